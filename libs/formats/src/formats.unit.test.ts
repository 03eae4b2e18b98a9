import { describe, expect, test } from '@jest/globals';
import type { Entity, FileEntry } from './document/entity.ts';
import type { FormatContext } from './document/format-context.ts';
import { descriptions, EXPORT_MEDIA_TYPES, FORMATS, findFormat, negotiateFormat } from './formats.ts';
import { signpostingHeader, signpostingLinks } from './web/signposting.ts';

const BASE = 'https://repository.example.org';
const FILE: FileEntry = {
  key: 'levels "a".csv',
  size: 783,
  checksum: 'md5:5b0dd6a50d1c08e969fd81e0a0a8af89',
  mimetype: 'text/csv',
  status: 'completed',
  links: {
    self: `${BASE}/api/records/abcde-12345/files/levels%20%22a%22.csv`,
    content: `${BASE}/api/records/abcde-12345/files/levels%20%22a%22.csv/content`,
  },
};
const CONTEXT: FormatContext = { baseUrl: BASE, repository: 'Delta Repository', files: [FILE] };
const OPTIONS = { style: 'apa' } as const;

function record(metadata: Partial<Entity['metadata']> = {}): Entity {
  return {
    id: 'abcde-12345',
    created: '2026-05-04 10:11:12.123456',
    updated: '2026-05-05T10:11:12.123456+00:00',
    links: { self: `${BASE}/api/records/abcde-12345`, self_html: `${BASE}/records/abcde-12345` },
    revision_id: 4,
    parent: { id: 'fghij-67890', type: 'resource' },
    versions: { is_latest: true, index: 1 },
    is_published: true,
    is_draft: false,
    pids: { doi: { identifier: '10.1234/abcde-12345' }, oai: { identifier: 'oai:example.org:abcde-12345' } },
    metadata: {
      title: 'River levels of the Danube delta',
      resource_type: { id: 'dataset', title: { en: 'Dataset' } },
      publication_date: '2026-05-04',
      publisher: 'Delta Observatory',
      version: '1.0',
      description: '<p>Daily levels &amp; extremes.</p><p>Five gauges.</p>',
      creators: [
        {
          person_or_org: {
            type: 'personal',
            family_name: 'Popescu',
            given_name: 'Ana Maria',
            identifiers: [{ identifier: '0000-0002-1825-0097', scheme: 'orcid' }],
          },
          affiliations: [{ name: 'Delta Observatory' }],
        },
        { person_or_org: { type: 'organizational', name: 'Lowland Mapping Group' } },
      ],
      contributors: [
        {
          person_or_org: { type: 'personal', family_name: 'Ionescu', given_name: 'Ion' },
          role: { id: 'datacollector' },
        },
      ],
      subjects: [{ subject: 'hydrology' }],
      languages: [{ id: 'eng' }],
      dates: [{ date: '2025/2026-04', type: { id: 'collected' } }],
      rights: [
        {
          id: 'cc-by-4.0',
          title: { en: 'Creative Commons Attribution 4.0 International' },
          props: { url: 'https://creativecommons.org/licenses/by/4.0/legalcode', scheme: 'spdx' },
        },
      ],
      related_identifiers: [
        { identifier: '10.1234/other', scheme: 'doi', relation_type: { id: 'issupplementto' } },
      ],
      locations: {
        features: [
          { place: 'Tulcea', geometry: { type: 'Point', coordinates: [28.8, 45.17] } },
          {
            place: 'Delta',
            geometry: {
              type: 'Polygon',
              coordinates: [
                [
                  [28, 44],
                  [30, 44],
                  [30, 46],
                  [28, 44],
                ],
              ],
            },
          },
        ],
      },
      funding: [{ funder: { name: 'EC' }, award: { number: '101', title: { en: 'Rivers' } } }],
      ...metadata,
    },
    access: { record: 'public', files: 'public', status: 'open' },
    relationship: { packages: [{ id: 'pkgid-00001' }] },
  };
}

const as = (name: string, entity = record(), options: { style: 'apa' } = OPTIONS): string =>
  findFormat(name)?.serialize(entity, CONTEXT, options) ?? '';
const json = (name: string, entity = record()) => JSON.parse(as(name, entity));

describe('DataCite', () => {
  test('maps every field, longitude before latitude', () => {
    expect(json('datacite-json')).toMatchObject({
      doi: '10.1234/abcde-12345',
      creators: [
        {
          name: 'Popescu, Ana Maria',
          nameType: 'Personal',
          nameIdentifiers: [
            { nameIdentifier: 'https://orcid.org/0000-0002-1825-0097', nameIdentifierScheme: 'ORCID' },
          ],
        },
        { name: 'Lowland Mapping Group', nameType: 'Organizational' },
      ],
      contributors: [{ contributorType: 'DataCollector' }],
      publicationYear: '2026',
      types: { resourceTypeGeneral: 'Dataset' },
      dates: [
        { date: '2026-05-04', dateType: 'Issued' },
        { date: '2025/2026-04', dateType: 'Collected' },
      ],
      descriptions: [{ description: 'Daily levels & extremes. Five gauges.', descriptionType: 'Abstract' }],
      relatedIdentifiers: [
        { relatedIdentifier: '10.1234/other', relatedIdentifierType: 'DOI', relationType: 'IsSupplementTo' },
        { relatedIdentifier: `${BASE}/packages/pkgid-00001`, relationType: 'IsPartOf' },
      ],
      geoLocations: [
        { geoLocationPlace: 'Tulcea', geoLocationPoint: { pointLongitude: 28.8, pointLatitude: 45.17 } },
        { geoLocationBox: { westBoundLongitude: 28, northBoundLatitude: 46 } },
      ],
      fundingReferences: [{ funderName: 'EC', awardNumber: '101', awardTitle: 'Rivers' }],
    });
  });

  test('has a URL as its identifier without a DOI', () => {
    const { pids: _, ...rest } = record();
    expect(as('datacite-xml', rest)).toContain(
      `<identifier identifierType="URL">${BASE}/records/abcde-12345</identifier>`,
    );
  });
});

describe('citations', () => {
  test.each([
    [
      'apa',
      'Popescu, A. M., & Lowland Mapping Group (2026). River levels of the Danube delta (Version 1.0) [Dataset]. Delta Observatory. https://doi.org/10.1234/abcde-12345',
    ],
    [
      'harvard1',
      'Popescu, A. M. and Lowland Mapping Group (2026) River levels of the Danube delta, version 1.0 [Dataset]. Delta Observatory. Available at: https://doi.org/10.1234/abcde-12345.',
    ],
    [
      'chicago-author-date',
      'Popescu, Ana Maria, and Lowland Mapping Group. 2026. “River levels of the Danube delta”. Version 1.0. Delta Observatory. https://doi.org/10.1234/abcde-12345',
    ],
    [
      'ieee',
      'A. M. Popescu and Lowland Mapping Group, “River levels of the Danube delta” (version 1.0), Delta Observatory, 2026. https://doi.org/10.1234/abcde-12345.',
    ],
    [
      'vancouver',
      'Popescu AM, Lowland Mapping Group. River levels of the Danube delta. Version 1.0. Delta Observatory; 2026. Available from: https://doi.org/10.1234/abcde-12345',
    ],
  ])('in the style %s', (style, expected) => {
    expect(as('citation', record(), { style: style as 'apa' })).toBe(expected);
  });

  test('BibTeX and RIS', () => {
    expect(as('bibtex')).toContain('author = {Popescu, Ana Maria and {Lowland Mapping Group}}');
    expect(as('ris').split('\r\n')).toEqual(
      expect.arrayContaining(['TY  - DATA', 'AU  - Popescu, Ana Maria', 'PY  - 2026', 'ER  - ']),
    );
  });
});

test('schema.org has the members that Google requires, and the files', () => {
  const document = json('json-ld', record({ description: 'Short.' }));
  expect(document.description.length).toBeGreaterThanOrEqual(50);
  expect(document).toMatchObject({
    '@context': 'https://schema.org',
    '@type': 'Dataset',
    '@id': 'https://doi.org/10.1234/abcde-12345',
    isAccessibleForFree: true,
    license: ['https://creativecommons.org/licenses/by/4.0/legalcode'],
    spatialCoverage: [{ name: 'Tulcea' }, { geo: { box: '44 28 46 30' } }],
    temporalCoverage: '2025/2026-04',
    distribution: [{ contentUrl: FILE.links.content, encodingFormat: 'text/csv' }],
    isPartOf: [{ url: `${BASE}/packages/pkgid-00001` }],
  });
});

test('a data package has one resource for each file', () => {
  expect(json('datapackage')).toMatchObject({
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    id: 'https://doi.org/10.1234/abcde-12345',
    name: 'abcde-12345',
    contributors: [
      { title: 'Popescu, Ana Maria', roles: ['creator'], path: 'https://orcid.org/0000-0002-1825-0097' },
      { title: 'Lowland Mapping Group' },
      { title: 'Ionescu, Ion', roles: ['datacollector'] },
    ],
    licenses: [{ name: 'cc-by-4.0', path: 'https://creativecommons.org/licenses/by/4.0/legalcode' }],
    resources: [{ name: 'file-1', title: FILE.key, path: FILE.links.content, bytes: 783 }],
  });
});

test.each([
  { provider: 'local' },
  { provider: 'datacite', state: 'pending' },
  { provider: 'datacite', state: 'failed' },
  { provider: 'datacite', state: 'unregistered' },
])('no format names a DOI that is not registered: %j', (doi) => {
  const reserved = { ...record(), pids: { doi: { identifier: '10.1234/abcde-12345', ...doi } } };
  for (const { name } of FORMATS) {
    const text = as(name, reserved);
    expect(text).not.toContain('10.1234/abcde-12345');
    expect(text).not.toContain('10.1234%2Fabcde-12345');
  }
});

describe('hostile texts', () => {
  const HOSTILE =
    '</script><b>x</b> & "q" \\ {tex} %\u0000\u000b\ufffe \ud800 "; a <> .\nER  - \n]]> } @misc{evil,';
  const hostile = record({
    title: HOSTILE,
    publisher: HOSTILE,
    version: HOSTILE,
    subjects: [{ subject: HOSTILE }],
    creators: [{ person_or_org: { type: 'personal', family_name: HOSTILE, given_name: HOSTILE } }],
    related_identifiers: [
      { identifier: 'https://x.org/"> <y>', scheme: 'url', relation_type: { id: 'cites' } },
    ],
  });

  test.each(FORMATS.map(({ name }) => name))('do not break %s', (name) => {
    const text = as(name, hostile);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be missing
    if (/xml|dublincore/.test(name)) expect(text).not.toMatch(/[\u0000-\u0008\u000b\ufffe]|<b>/);
    if (/json|csl|croissant|datapackage/.test(name)) expect(() => JSON.parse(text)).not.toThrow();
    if (name === 'ris') expect(text.match(/^ER {2}-/gm)).toHaveLength(1);
    if (name === 'bibtex') {
      expect(text.match(/^@/gm)).toHaveLength(1);
      const unescaped = text.replace(/\\[{}]/g, '');
      expect(unescaped.split('{').length).toBe(unescaped.split('}').length);
    }
    if (name === 'dcat-ap') expect(text.replace(/"(?:[^"\\\n]|\\.)*"/g, '')).not.toContain('"');
  });

  test('an entity with nothing but its id has all formats', () => {
    const bare: Entity = { ...record(), pids: {}, metadata: {}, relationship: {} };
    for (const { serialize } of FORMATS)
      expect(serialize(bare, { ...CONTEXT, files: [] }, OPTIONS)).not.toBe('');
  });
});

describe('the choice of a format', () => {
  const JSON_TYPES = ['application/json', 'application/vnd.inveniordm.v1+json'];

  test.each([
    ['application/json', undefined],
    ['*/*', undefined],
    ['text/turtle', 'dcat-ap'],
    ['application/ld+json', 'json-ld'],
    ['application/ld+json;profile="http://mlcommons.org/croissant/1.0"', 'croissant'],
    ['application/ld+json;profile="https://datapackage.org/profiles/2.0/datapackage.json"', 'datapackage'],
    ['application/json;q=0.5, application/x-bibtex', 'bibtex'],
    ['application/rdf+xml', 'dcat-ap-xml'],
    ['image/png', undefined],
  ])('%s', (accept, expected) => {
    expect(negotiateFormat(accept, JSON_TYPES)?.name).toBe(expected);
  });

  test('each media type leads to a format', () => {
    for (const type of EXPORT_MEDIA_TYPES) expect(negotiateFormat(type, JSON_TYPES)).toBeDefined();
  });
});

describe('FAIR Signposting', () => {
  const links = (files: readonly FileEntry[]) => signpostingLinks(record(), { files }, descriptions());

  test('links the page with its DOI, authors, licence, files, formats and types, and these with the page', () => {
    const [page, ...others] = links([FILE]);
    expect(page).toMatchObject({
      anchor: `${BASE}/records/abcde-12345`,
      'cite-as': [{ href: 'https://doi.org/10.1234/abcde-12345' }],
      author: [{ href: 'https://orcid.org/0000-0002-1825-0097' }],
      item: [{ href: FILE.links.content, type: 'text/csv' }],
    });
    expect(others[0]).toEqual({
      anchor: FILE.links.content,
      collection: [{ href: `${BASE}/records/abcde-12345`, type: 'text/html' }],
    });
    expect(others.slice(1).every((one) => 'describes' in one)).toBe(true);
  });

  test('the header has all links if they fit', () => {
    const short = signpostingHeader(record(), links([FILE]));
    expect(short).toContain('rel="item"');
    const many = Array.from({ length: 100 }, (_, number) => ({ ...FILE, key: `${number}.csv` }));
    const long = signpostingHeader(record(), links(many));
    expect(Buffer.byteLength(long)).toBeLessThan(4_096);
    expect(long).toContain('rel="cite-as"');
    expect(long).toContain('rel="linkset"');
    expect(long).not.toContain('rel="item"');
  });
});
