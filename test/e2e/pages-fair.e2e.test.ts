import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type DataciteServer, startDatacite, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish, relate, upload } from './story/stories.ts';

const ACCOUNT = { repository: 'RIVERS.REPOSITORY', password: 'in the test only', prefix: '10.5072' };
const CSV = 'day,level\n2026-05-01,120\n';
const RELATED = '10.1234/method';
const ORCID = '0000-0002-1825-0097';

let datacite: DataciteServer;
let system: TestSystem;
let author: HttpClient;
let record: Entity;
let main: Entity;

beforeAll(async () => {
  datacite = await startDatacite({ ...ACCOUNT, domains: ['127.0.0.1'] });
  system = await startSystem({
    hasPages: true,
    environment: {
      DATACITE_URL: datacite.url,
      DATACITE_REPOSITORY: ACCOUNT.repository,
      DATACITE_PASSWORD: ACCOUNT.password,
    },
    settings: { doiScanMs: 50 },
  });
  author = httpClient(system.baseUrl, system.token);
  const described = {
    description: '<p>Daily levels of the lower Danube at five gauges, with the days of floods.</p>',
    publisher: 'River Observatory',
    version: '1.0',
    subjects: [{ subject: 'hydrology' }],
    rights: [{ id: 'cc-by-4.0' }],
    languages: [{ id: 'eng' }],
    creators: [
      {
        person_or_org: {
          type: 'personal',
          family_name: 'Moreau',
          given_name: 'Lise',
          identifiers: [{ identifier: ORCID, scheme: 'orcid' }],
        },
      },
    ],
    related_identifiers: [{ identifier: RELATED, scheme: 'doi', relation_type: { id: 'isdocumentedby' } }],
    dates: [{ date: '2026-05-01/2026-05-31', type: { id: 'collected' } }],
  };
  const json = packageDocument('Floods', { withFiles: true, metadata: described });
  const packageDraft = await author.sure<Entity>('POST', '/packages', { json });
  const recordDraft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Levels of the Danube', { withFiles: true, metadata: described }),
  });
  await relate(author, packageDraft, [recordDraft]);
  for (const draft of [packageDraft, recordDraft]) {
    await upload(author, draft, 'levels.csv', Buffer.from(CSV));
    await author.sure('POST', link(draft, 'reserve_doi'));
  }
  main = await publish(author, packageDraft);
  record = await author.sure<Entity>('GET', `/records/${recordDraft.id}`);
  const isFindable = ({ id }: Entity) => datacite.dois.get(`10.5072/${id}`)?.state === 'findable';
  await until(() => isFindable(record) && isFindable(main));
  const hasLink = async ({ id }: Entity, kind: string) =>
    (await read(`${system.baseUrl}/${kind}/${id}`)).text.includes(`https://doi.org/10.5072/${id}`);
  await until(async () => (await hasLink(record, 'records')) && (await hasLink(main, 'packages')));
});
afterAll(async () => {
  await system?.stop();
  await datacite?.stop();
});

/** Reads without credentials, as an assessment does. */
async function read(url: string, { accept = '*/*', method = 'GET' } = {}) {
  const response = await fetch(url, { method, headers: { accept } });
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    url: response.url,
    status: response.status,
    headers: response.headers,
    bytes,
    text: bytes.toString(),
  };
}

interface TypedLink {
  href: string;
  rel: string;
  type?: string;
}

function linksIn(headers: Headers): TypedLink[] {
  return [...(headers.get('link') ?? '').matchAll(/<([^>]*)>((?:\s*;\s*\w+="[^"]*")*)/g)].map(
    ([, href = '', parameters = '']) => {
      const pairs = [...parameters.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]);
      return { href, rel: '', ...Object.fromEntries(pairs) } as TypedLink;
    },
  );
}

describe.each([
  ['records', () => record, 'Dataset'],
  ['packages', () => main, ['Collection', 'Dataset']],
] as const)('the landing pages of %s satisfy what F-UJI scores (metrics v0.8)', (kind, entityOf, type) => {
  let page: Awaited<ReturnType<typeof read>>;
  let url: string;
  let doi: string;
  /** The JSON-LD in the page. */
  let embedded: Record<string, never> & { distribution: Record<string, string>[] };
  let links: TypedLink[];
  let turtle: string;
  const targets = (rel: string) => links.filter((one) => one.rel === rel).map(({ href }) => href);

  beforeAll(async () => {
    const { id } = entityOf();
    url = `${system.baseUrl}/${kind}/${id}`;
    doi = `10.5072/${id}`;
    page = await read(url);
    const [, json = '{}'] = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(page.text) ?? [];
    embedded = JSON.parse(json);
    links = linksIn(page.headers);
    turtle = (await read(url, { accept: 'text/turtle' })).text;
  });

  test('F1: a DOI that leads to the page identifies the metadata', async () => {
    expect(embedded['@id']).toBe(`https://doi.org/${doi}`);
    expect(embedded['identifier']).toContainEqual(
      expect.objectContaining({ propertyID: 'DOI', value: doi, url: `https://doi.org/${doi}` }),
    );
    expect(targets('cite-as')).toEqual([`https://doi.org/${doi}`]);
    expect(datacite.dois.get(doi)?.attributes['url']).toBe(url);
    expect((await read(`${system.baseUrl}/doi/${doi}`)).url).toBe(url);
  });

  test('F2, F4: core metadata are embedded in the page', () => {
    for (const name of [
      'creator',
      'name',
      'identifier',
      'datePublished',
      'publisher',
      '@type',
      'description',
      'keywords',
    ])
      expect(embedded).toHaveProperty([name]);
    expect(embedded['@context']).toBe('https://schema.org');
    // Google Dataset Search requires as much.
    expect(String(embedded['description']).length).toBeGreaterThanOrEqual(50);
  });

  test('F3, A1: metadata and files are retrieved without credentials by the links in the metadata', async () => {
    expect(embedded.distribution).toHaveLength(1);
    for (const { contentUrl = '' } of embedded.distribution) {
      expect(targets('item')).toContain(contentUrl);
      const file = await read(contentUrl);
      expect([file.status, file.text]).toEqual([200, CSV]);
    }
    expect(embedded).toMatchObject({
      isAccessibleForFree: true,
      conditionsOfAccess: 'http://publications.europa.eu/resource/authority/access-right/PUBLIC',
    });
    expect(turtle).toContain(
      'dct:accessRights <http://publications.europa.eu/resource/authority/access-right/PUBLIC>',
    );
  });

  test('I1: metadata are RDF, in the page, by typed links and by negotiation', async () => {
    const described = links.filter(({ rel }) => rel === 'describedby');
    expect(described.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['application/ld+json', 'text/turtle', 'application/vnd.datacite.datacite+xml']),
    );
    for (const { href, type = '' } of described) {
      const { status, headers } = await read(href);
      expect([href, status, headers.get('content-type')?.split(';')[0]]).toEqual([href, 200, type]);
    }
    for (const accept of ['text/turtle', 'application/ld+json', 'application/rdf+xml']) {
      const { status, headers } = await read(url, { accept });
      expect([status, headers.get('content-type')?.replace('dcat+xml', 'rdf+xml')]).toEqual([200, accept]);
    }
  });

  test('I2, R1.2: the provenance has a registered vocabulary', () => {
    expect(turtle).toContain('@prefix prov: <http://www.w3.org/ns/prov#> .');
    expect(turtle).toContain(`prov:wasAttributedTo <https://orcid.org/${ORCID}>`);
    expect(turtle).toContain('prov:generatedAtTime "');
    for (const name of ['dateCreated', 'dateModified', 'datePublished'])
      expect(embedded).toHaveProperty(name);
  });

  test('I3: related works are linked with the type of the relation', () => {
    const related = `https://doi.org/${RELATED}`;
    expect(embedded['citation']).toContainEqual(expect.objectContaining({ '@id': related }));
    expect(turtle).toContain(`dct:relation <${related}>`);
    const other =
      kind === 'records' ? `${system.baseUrl}/packages/${main.id}` : `${system.baseUrl}/records/${record.id}`;
    const relation = kind === 'records' ? 'isPartOf' : 'hasPart';
    expect(embedded[relation]).toContainEqual(expect.objectContaining({ '@id': other }));
  });

  test('R1, R1.3: the type of the resource and the open format of its file are named, and the size is right', async () => {
    expect(embedded['@type']).toEqual(type);
    const [file] = embedded.distribution;
    expect(file).toMatchObject({ encodingFormat: 'text/csv', contentSize: `${CSV.length} B` });
    // Browsers get texts as plain text, so that they run nothing.
    expect((await read(file?.['contentUrl'] ?? '')).headers.get('content-type')).toContain('text/');
  });

  test('R1.1: the licence is one of SPDX', () => {
    const licence = 'https://creativecommons.org/licenses/by/4.0/legalcode';
    expect(embedded['license']).toEqual([licence]);
    expect(targets('license')).toEqual([licence]);
    expect(turtle).toContain(`dct:license <${licence}>`);
  });

  test('R1.3: metadata standards are known by their namespaces', () => {
    expect(turtle).toContain('@prefix dcat: <http://www.w3.org/ns/dcat#> .');
    expect(turtle).toMatch(/a dcat:Dataset\b/);
  });

  test('the page has text without scripts', () => {
    const shown = page.text.replace(/<(script|style)\b.*?<\/\1>/gs, '').replace(/<[^>]+>/g, ' ');
    expect(shown.replace(/\s+/g, ' ').length).toBeGreaterThan(500);
  });

  test('FAIR Signposting has levels 1 and 2, also for HEAD, files and metadata', async () => {
    const head = await read(url, { method: 'HEAD' });
    expect(head.headers.get('link')).toBe(page.headers.get('link'));
    expect(targets('author')).toEqual([`https://orcid.org/${ORCID}`]);
    expect(targets('type')).toContain('https://schema.org/AboutPage');
    const [linkset = ''] = targets('linkset');
    const { linkset: contexts } = JSON.parse((await read(linkset)).text) as {
      linkset: { anchor: string; collection?: unknown; describes?: unknown }[];
    };
    expect(contexts.map(({ anchor }) => anchor)).toEqual([
      url,
      ...targets('item'),
      ...targets('describedby'),
    ]);
    for (const item of targets('item'))
      expect(linksIn((await read(item, { method: 'HEAD' })).headers)).toEqual([
        { href: url, rel: 'collection', type: 'text/html' },
      ]);
    for (const document of targets('describedby'))
      expect(linksIn((await read(document)).headers)).toEqual([
        { href: url, rel: 'describes', type: 'text/html' },
      ]);
  });
});
