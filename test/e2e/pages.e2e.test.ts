import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FORMATS } from '@kr/formats';
import { openPython, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { brokenOf, crawl } from './pages/crawl.ts';
import type { Entity, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { packageOfResources, publish, publishedRecord, upload } from './story/stories.ts';

const run = promisify(execFile);
const FOLDER = join(import.meta.dirname, 'pages');
const SHAPES = resolve(import.meta.dirname, '../../../shared/schemas/dcat-ap/shapes.ttl');
const CSV = 'day,level\n2026-05-01,120\n2026-05-02,"<b>130</b>"\n';
/** 3 × 2 pixels. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGP4z8AAQQxwFgBB0gX7h/C5SAAAAABJRU5ErkJggg==',
  'base64',
);
const HOSTILE = '</title><script>alert(1)</script> & "quoted"';

const python = await openPython(join(FOLDER, 'requirements.txt'));
let system: TestSystem;
let author: HttpClient;
let admin: HttpClient;
let record: Entity;
let main: Entity;

beforeAll(async () => {
  system = await startSystem({ hasPages: true });
  author = httpClient(system.baseUrl, system.token);
  admin = httpClient(system.baseUrl, (await system.createUser('root', { admin: true })).token);
  const draft = await author.sure<Entity>('POST', '/records', {
    json: {
      pids: { doi: { identifier: '10.1234/levels', provider: 'external' } },
      ...recordDocument('Levels of the Danube', {
        withFiles: true,
        metadata: {
          description: `<p>Daily levels.</p><script>alert(2)</script><a href="javascript:alert(3)">x</a>`,
          publisher: 'River Observatory',
          subjects: [{ subject: 'hydrology' }],
          rights: [{ id: 'cc-by-4.0' }],
          locations: {
            features: [{ place: 'Tulcea', geometry: { type: 'Point', coordinates: [28.8, 45.17] } }],
          },
        },
      }),
    },
  });
  await upload(author, draft, 'levels.csv', Buffer.from(CSV));
  await upload(
    author,
    draft,
    'read me.md',
    Buffer.from('# Title\n\n<script>alert(4)</script> [x](javascript:y)'),
  );
  const broken = { type: 'GeometryCollection', geometries: [{ type: 'LineString', coordinates: [1, 2] }, 3] };
  await upload(author, draft, 'broken.geojson', Buffer.from(JSON.stringify(broken)));
  await upload(author, draft, 'report.pdf', Buffer.from('%PDF-1.4\n%%EOF\n'));
  record = await publish(author, draft);
  const { main: packageDraft } = await packageOfResources(author, 'Floods', 2);
  main = await publish(author, packageDraft);
  await until(async () => (await author.sure<Listing<Entity>>('GET', '/search?q=Floods')).hits.total >= 3);
});
afterAll(() => system?.stop());

async function restrictedRecord(): Promise<Entity> {
  const access = { record: 'restricted', files: 'restricted' };
  const json = recordDocument('Secret levels', { withFiles: true, access });
  const draft = await author.sure<Entity>('POST', '/records', { json });
  await upload(author, draft, 'secret.txt', Buffer.from('secret'));
  return publish(author, draft);
}

async function embargoedRecord(): Promise<Entity> {
  const until = new Date(Date.now() + 400 * 86_400_000).toISOString().slice(0, 10);
  const access = {
    record: 'public',
    files: 'restricted',
    embargo: { active: true, until, reason: 'thesis' },
  };
  const json = { ...recordDocument('Later levels'), access };
  return publish(author, await author.sure<Entity>('POST', '/records', { json }));
}

/** Its page was shown before the removal. */
async function removedRecord(): Promise<Entity> {
  const record = await publishedRecord(author, 'Withdrawn levels');
  expect((await page(`/records/${record.id}`)).status).toBe(200);
  const json = { removal_reason: { id: 'takedown-request' }, note: 'On request.' };
  await admin.sure('DELETE', `/records/${record.id}?wait_for_index=true`, { json });
  return record;
}

async function newVersionOf({ id, metadata }: Entity): Promise<Entity> {
  const next = await author.sure<Entity>('POST', `/packages/${id}/versions`);
  await author.sure('PUT', `/packages/${next.id}/draft`, {
    json: packageDocument(`${metadata['title']}, corrected`),
  });
  return publish(author, next);
}

async function page(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${system.baseUrl}${path}`, {
    redirect: 'manual',
    headers: { accept: 'text/html', ...headers },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('pages', () => {
  test('every link of every page and of every document leads somewhere', async () => {
    const starts = [
      '/',
      `/packages/${(await newVersionOf(main)).id}`,
      `/packages/${main.id}/versions`,
      `/records/${(await embargoedRecord()).id}`,
      `/records/${(await removedRecord()).id}`,
      `/records/${(await restrictedRecord()).id}`,
      '/sitemap.xml',
      `/api/packages/${main.id}`,
      '/api/search?size=100',
    ];
    const visits = await crawl(
      starts.map((path) => `${system.baseUrl}${path}`),
      // Samples in the description of the API are no links.
      (_, from) => !from.endsWith('/api/openapi.json'),
    );
    expect(brokenOf(visits)).toEqual([]);
    const statuses = visits.filter(({ from }) => from === '').map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 200, 410, 403, 200, 200, 200]);
    const paths = visits.map(({ url }) => new URL(url).pathname);
    expect(paths).toEqual(
      expect.arrayContaining([
        '/search',
        `/records/${record.id}`,
        `/records/${record.id}/preview/levels.csv`,
        `/api/records/${record.id}/export/dcat-ap`,
        `/api/records/${record.id}/files/levels.csv/content`,
        `/packages/${main.id}`,
        `/packages/${main.id}/latest`,
        '/feed.atom',
      ]),
    );
  });

  test('every link of a page that an access link opened leads somewhere, with the token', async () => {
    const secret = await restrictedRecord();
    const { token } = await author.sure<{ token: string }>('POST', `/records/${secret.id}/access/links`, {
      json: { permission: 'view' },
    });
    const start = `${system.baseUrl}/records/${secret.id}?token=${token}`;
    // The links of the page itself, and of its previews and versions.
    const visits = await crawl([start], (_, from) =>
      new URL(from).pathname.startsWith(`/records/${secret.id}`),
    );
    expect(brokenOf(visits)).toEqual([]);
    const own = visits.filter(({ url }) => url.includes(secret.id) && !url.includes('token='));
    expect(own).toEqual([]);
    expect(visits.map(({ url }) => new URL(url).pathname)).toEqual(
      expect.arrayContaining([
        `/records/${secret.id}/preview/secret.txt`,
        `/api/records/${secret.id}/files/secret.txt/content`,
        `/api/records/${secret.id}/files-archive`,
        `/api/records/${secret.id}/export/bibtex`,
      ]),
    );
  });

  test('every link to the API in answers to the owner leads somewhere', async () => {
    const edited = [record, main].map(({ links }) => author.sure<Entity>('POST', String(links['draft'])));
    const documents = [record, main, ...(await Promise.all(edited))];
    const links = documents.flatMap((document) => Object.entries(document.links));
    // A draft has no review before one is requested, as in the recorded exchanges.
    const served = links.filter(([name, url]) => name !== 'review' && String(url).includes('/api/'));
    const statuses = await Promise.all(
      served.map(async ([name, url]) => {
        const { status } = await author.call('GET', String(url));
        return { name, url, status };
      }),
    );
    expect(statuses.filter(({ status }) => status === 404 || status >= 500)).toEqual([]);
    expect(statuses).toContainEqual(expect.objectContaining({ name: 'requests', status: 200 }));
  });

  test('a landing page shows the entity, and runs nothing that a depositor wrote', async () => {
    const { status, text, headers } = await page(`/records/${record.id}`);
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
    for (const shown of ['Levels of the Danube', 'levels.csv', 'Lise Moreau', 'hydrology', 'Tulcea', 'md5:'])
      expect(text).toContain(shown);
    expect(text).not.toMatch(/<script>alert|href="javascript:/);
    const scripts = [...text.matchAll(/<script\b[^>]*>/g)].map(([tag]) => tag);
    expect(scripts.filter((tag) => !/ld\+json|src="\/static\//.test(tag))).toEqual([]);
    // Nothing is loaded from other hosts.
    const loaded = [
      ...text.matchAll(/<(?:script|img|link rel="(?:stylesheet|icon)")[^>]*(?:src|href)="([^"]+)"/g),
    ];
    expect(loaded.map(([, url = '']) => url).filter((url) => !url.startsWith('/static/'))).toEqual([]);
  });

  test('a shared link is previewed by OpenGraph, except that of an access link', async () => {
    const { text } = await page(`/records/${record.id}`);
    const openGraph = (html: string) =>
      Object.fromEntries(
        [...html.matchAll(/<meta property="og:(\w+)" content="([^"]*)">/g)].map(([, name, value]) => [
          name,
          value,
        ]),
      );
    expect(openGraph(text)).toEqual({
      title: 'Levels of the Danube',
      type: 'website',
      site_name: 'Knowledge Repository',
      url: `${system.baseUrl}/records/${record.id}`,
      description: expect.stringContaining('Daily levels.'),
    });
    const secret = await restrictedRecord();
    const { token } = await author.sure<{ token: string }>('POST', `/records/${secret.id}/access/links`, {
      json: { permission: 'view' },
    });
    const shared = await page(`/records/${secret.id}?token=${token}`);
    expect(openGraph(shared.text)).not.toHaveProperty('url');
    expect(openGraph((await page(`/records/${secret.id}`)).text)['title']).toBe('Restricted');
  });

  test('hostile titles are text', async () => {
    const hostile = await publishedRecord(author, HOSTILE);
    const { text } = await page(`/records/${hostile.id}`);
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('&lt;script&gt;alert(1)');
  });

  test('previews show tables and Markdown as text', async () => {
    const table = await page(`/records/${record.id}/preview/levels.csv`);
    expect(table.text).toContain('<td>2026-05-01</td>');
    expect(table.text).toContain('&lt;b&gt;130&lt;/b&gt;');
    const markdown = await page(`/records/${record.id}/preview/${encodeURIComponent('read me.md')}`);
    expect(markdown.text).toContain('<h3>Title</h3>');
    expect(markdown.text).not.toMatch(/<script>alert|href="javascript/);
    const broken = await page(`/records/${record.id}/preview/broken.geojson`);
    expect(broken.status).toBe(200);
    expect(broken.text).toContain('The content does not match the file extension.');
    expect((await page(`/records/${record.id}/preview/missing.csv`)).status).toBe(404);
    expect((await page(`/records/${record.id}/preview/levels.csv/document`)).status).toBe(404);
    const pdf = await page(`/records/${record.id}/preview/report.pdf`);
    const [, source = ''] = /<iframe src="([^"]+)"/.exec(pdf.text) ?? [];
    const shown = await page(source);
    expect([
      shown.status,
      shown.headers.get('content-type'),
      shown.headers.get('content-disposition'),
    ]).toEqual([200, 'application/pdf', 'inline']);
    expect(shown.headers.get('content-security-policy')).toBe(
      "default-src 'none'; frame-ancestors 'self'; sandbox",
    );
  });

  test('restricted entities are shown with an access link alone, which every link of the page keeps', async () => {
    const secret = await restrictedRecord();
    const { token } = await author.sure<{ token: string }>('POST', `/records/${secret.id}/access/links`, {
      json: { permission: 'view' },
    });
    const refused = await page(`/records/${secret.id}`);
    expect([refused.status, refused.text.includes('Secret levels')]).toEqual([403, false]);
    const opened = await page(`/records/${secret.id}?token=${token}`);
    expect(opened.status).toBe(200);
    expect(opened.headers.get('cache-control')).toBe('private, no-store');
    expect(opened.text).toContain('Secret levels');
    expect(opened.text).toContain('name="robots" content="noindex"');
    const own = [...opened.text.matchAll(/<a [^>]*href="(\/(?:records|api)[^"]*)"/g)].map(([, url]) => url);
    expect(own.length).toBeGreaterThan(3);
    expect(own.filter((url) => !url?.includes('token='))).toEqual(['/api/openapi.json']);
    // The page is not served from a cache to others.
    expect((await page(`/records/${secret.id}`)).status).toBe(403);
  });

  test('a page that the web service serves itself ends with its record', async () => {
    const { id } = await publishedRecord(author, 'Levels in doubt');
    const webUrl = system.environments.gateway['WEB_URL'];
    const shown = async () => {
      const response = await fetch(`${webUrl}/records/${id}`, { headers: { accept: 'text/html' } });
      return { status: response.status, title: (await response.text()).includes('Levels in doubt') };
    };
    expect(await shown()).toEqual({ status: 200, title: true });
    const draft = await author.sure<Entity>('POST', `/records/${id}/draft`);
    const access = { record: 'restricted', files: 'restricted' };
    await author.sure('PUT', `/records/${id}/draft`, {
      json: { ...recordDocument('Levels in doubt'), access },
    });
    const publishing = publish(author, draft);
    // Pages are rendered while the record changes.
    await Promise.all([shown(), shown(), publishing]);
    expect(await shown()).toEqual({ status: 403, title: false });
  });

  test('an embargo is shown with its end, and removed entities with their tombstone', async () => {
    const { text } = await page(`/records/${(await embargoedRecord()).id}`);
    expect(text).toMatch(/under embargo until \w+ \d+, \d{4}/);
    expect(text).toContain('thesis');

    const removed = await page(`/records/${(await removedRecord()).id}`);
    expect(removed.status).toBe(410);
    expect(removed.text).toContain('Reason: takedown request.');
    expect(removed.text).toContain('On request.');
    expect(removed.text).toContain('Withdrawn levels');
  });

  test('credentials of programs change no page, which others would then get from a cache', async () => {
    const draft = await author.sure<Entity>('POST', '/records', {
      json: recordDocument('Half open', {
        withFiles: true,
        access: { record: 'public', files: 'restricted' },
      }),
    });
    await upload(author, draft, 'restricted-name.csv', Buffer.from(CSV));
    const { id } = await publish(author, draft);
    for (const headers of [{ authorization: `Bearer ${system.token}` }, {}]) {
      const { status, text } = await page(`/records/${id}`, headers);
      expect([status, text.includes('restricted-name.csv')]).toEqual([200, false]);
    }
  });

  test.each([
    ['text/turtle', 'text/turtle'],
    ['application/ld+json', 'application/ld+json'],
    ['application/json', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['*/*', 'text/html; charset=utf-8'],
  ])('the address of a page leads clients that accept %s to %s', async (accept, type) => {
    const response = await fetch(`${system.baseUrl}/records/${record.id}`, { headers: { accept } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
  });

  test.each(FORMATS.map((format) => [format.name, format] as const))(
    'the format %s is at its address and by Accept',
    async (name, { mediaTypes, profile }) => {
      const api = `${system.baseUrl}/api/records/${record.id}`;
      const exported = await fetch(`${api}/export/${name}`);
      const text = await exported.text();
      expect([exported.status, text.length > 20]).toEqual([200, true]);
      const suffix = profile === undefined ? '' : `;profile="${profile}"`;
      for (const type of mediaTypes) {
        const response = await fetch(api, { headers: { accept: `${type}${suffix}` } });
        expect([response.status, await response.text()]).toEqual([200, text]);
        expect(response.headers.get('content-type')).toBe(exported.headers.get('content-type'));
        expect(response.headers.get('vary')).toContain('Accept');
      }
    },
  );

  test('versions lead to the newest one', async () => {
    const first = await publish(
      author,
      await author.sure<Entity>('POST', '/packages', { json: packageDocument('Maps') }),
    );
    const second = await newVersionOf(first);
    expect((await page(`/packages/${first.id}`)).text).toContain('A newer version exists.');
    const { status, headers } = await page(`/packages/${first.id}/latest`);
    expect([status, headers.get('location')]).toEqual([302, `/packages/${second.id}`]);
    const all = await page(`/packages/${first.id}/versions`);
    expect(all.text).toContain(`href="/packages/${second.id}"`);
    expect(all.text).toContain(`href="/packages/${first.id}"`);
  });

  test('the search has facets, a map and a box, and explains bad input', async () => {
    const found = await page('/search?q=danube');
    expect(found.text).toContain(`href="/records/${record.id}"`);
    const boxed = await page('/search?view=map&west=28&south=45&east=29&north=46');
    expect(boxed.text).toContain(`href="/records/${record.id}"`);
    expect(boxed.text).toContain('<circle class="place point" cx="28.8" cy="-45.17"');
    expect((await page('/search?west=-10&south=0&east=-5&north=5')).text).not.toContain(record.id);
    const bad = await page('/search?q=%22open');
    expect(bad.status).toBe(400);
    expect(bad.text).toContain('q: ');
  });

  test('feeds and sitemaps list what is published', async () => {
    const feed = await page('/feed.atom?q=danube');
    expect(feed.headers.get('content-type')).toContain('application/atom+xml');
    expect(feed.text).toContain(`<id>${system.baseUrl}/records/${record.id}</id>`);
    const [, month = ''] = /sitemap-(\d{4}-\d\d)\.xml<\/loc>/.exec((await page('/sitemap.xml')).text) ?? [];
    const listed = (await page(`/sitemap-${month}.xml`)).text;
    expect(listed).toContain(`/records/${record.id}</loc>`);
    const changes = [...listed.matchAll(/<lastmod>([^<]+)</g)].map(([, at = '']) => Date.parse(at));
    expect(changes.filter((at) => !(at <= Date.now()))).toEqual([]);
    expect(changes.length).toBeGreaterThan(0);
    const today = new Date().toISOString().slice(0, 10);
    expect((await page(`/sitemap-${today}.xml`)).text).toContain(`/records/${record.id}</loc>`);
    expect((await page('/sitemap-2026-13.xml')).status).toBe(404);
    const contact = await page('/.well-known/security.txt');
    expect(contact.headers.get('content-type')).toContain('text/plain');
    expect(contact.text).toMatch(
      /^Contact: mailto:postmaster@127\.0\.0\.1\nExpires: 20\d\d-\d\d-\d\dT00:00:00Z\n/,
    );
    expect((await page('/robots.txt')).text).toContain(`Sitemap: ${system.baseUrl}/sitemap.xml`);
  });

  test('images have IIIF manifests and sizes, for readers of the files only', async () => {
    const draft = await author.sure<Entity>('POST', '/records', {
      json: recordDocument('Photo', { withFiles: true, access: { record: 'public', files: 'restricted' } }),
    });
    await upload(author, draft, 'river view.png', PNG);
    const photo = await publish(author, draft);
    const base = `${system.baseUrl}/api/iiif/record:${photo.id}`;
    expect((await fetch(`${base}/manifest`)).status).toBe(403);
    const call = (path: string) => author.call<Record<string, unknown>>('GET', `${base}${path}`);
    const { body: manifest } = await call('/manifest');
    expect(manifest).toMatchObject({
      type: 'Manifest',
      items: [{ type: 'Canvas', label: { en: ['river view.png'] } }],
    });
    const image = ':river%20view.png';
    expect((await call(`${image}/info.json`)).body).toMatchObject({ width: 3, height: 2, profile: 'level2' });
    const shown = await call(`${image}/full/2,/90/gray.png`);
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png']);
    // Width and height, in the header of a PNG.
    expect([shown.bytes.readUInt32BE(16), shown.bytes.readUInt32BE(20)]).toEqual([1, 2]);
    for (const wrong of [
      '/full/9,/0/default.png',
      '/0,0,0,1/max/0/default.png',
      '/full/max/999/default.png',
      '/full/max/0/default.exe',
    ])
      expect((await call(`${image}${wrong}`)).status).toBe(400);
    expect((await call(':missing.png/info.json')).status).toBe(404);
    expect((await fetch(`${system.baseUrl}/api/iiif/unknown:${photo.id}/manifest`)).status).toBe(404);
  });

  test('unknown pages are 404 in HTML, and the API keeps its own errors', async () => {
    const { status, text } = await page('/records/abcde-fghij');
    expect([status, text.includes('<h1>Not found</h1>')]).toEqual([404, true]);
    expect((await fetch(`${system.baseUrl}/api/nothing`)).headers.get('content-type')).toBe(
      'application/json',
    );
  });

  ('missing' in python ? test.skip : test)(
    `independent readers understand pages and exports${'missing' in python ? ` (${python.missing})` : ''}`,
    async () => {
      if ('missing' in python) return;
      const args = [`${system.baseUrl}/records/${record.id}`, `${system.baseUrl}/api/records/${record.id}`];
      const { stdout } = await run(python.python, [
        join(FOLDER, 'read_back.py'),
        ...args,
        ...(existsSync(SHAPES) ? [SHAPES] : []),
      ]);
      const understood = JSON.parse(stdout);
      const title = { title: 'Levels of the Danube', isValid: true };
      expect(understood).toMatchObject({
        signposting: { citeAs: 'https://doi.org/10.1234/levels', items: 4, linksets: 1 },
        jsonLd: [{ '@type': 'Dataset', name: 'Levels of the Danube' }],
        datacite: title,
        bibtex: title,
        csl: title,
        ris: { title: 'Levels of the Danube' },
        dataciteErrors: [],
        dataPackage: { title: 'Levels of the Danube', errors: [], resources: 4 },
        ...(existsSync(SHAPES) ? { dcatAp: '' } : {}),
      });
    },
  );
});
