import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Entity, FileListing } from '@kr/formats';
import { createLogger } from '@kr/telemetry';
import { readConfig } from './config.ts';
import { startWebService, type WebService } from './service.ts';

const WEB_KEY = 'a key of at least thirty-two characters';
const ID = 'abcde-00001';
const PAGE = `/records/${ID}`;
const MANIFEST = `/api/iiif/record:${ID}/manifest`;

const RECORD: Entity = {
  id: ID,
  created: '2026-05-01T00:00:00Z',
  updated: '2026-05-01T00:00:00Z',
  links: { self: `http://h/api/records/${ID}`, self_html: `http://h/records/${ID}` },
  revision_id: 1,
  parent: { id: 'abcde-00000', type: 'resource' },
  versions: { index: 1, is_latest: true },
  is_published: true,
  is_draft: false,
  metadata: { title: 'Levels of the Danube' },
  access: { record: 'public', files: 'public', status: 'open' },
};
const FILES: FileListing = { enabled: true, entries: [] };
const EMPTY_LIST = { hits: { hits: [], total: 0 }, aggregations: {}, links: {} };

/** Answers as the gateway does. */
const api: { status: number; requests: { path: string; headers: IncomingHttpHeaders }[] } = {
  status: 200,
  requests: [],
};
const gateway = createServer(({ url = '', headers }, response) => {
  const { pathname } = new URL(url, 'http://h');
  api.requests.push({ path: pathname, headers });
  const body = answerTo(pathname);
  response.writeHead(api.status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
function answerTo(path: string): object {
  if (api.status !== 200) return { status: api.status, message: 'Permission denied.' };
  if (path === `/api/records/${ID}`) return RECORD;
  return path.endsWith('/files') ? FILES : EMPTY_LIST;
}

let web: WebService;

beforeAll(async () => {
  await new Promise<void>((listening) => gateway.listen(0, '127.0.0.1', listening));
  const logger = createLogger('test');
  logger.level = 'silent';
  const config = readConfig({
    HTTP_PORT: '0',
    HEALTH_PORT: '0',
    GATEWAY_URL: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`,
    WEB_KEY,
  });
  web = await startWebService(config, logger);
});
afterAll(async () => {
  await web?.stop();
  gateway.close();
});
beforeEach(() => {
  api.status = 200;
  api.requests = [];
});

async function fetched(path: string, { method = 'GET', ...headers }: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${web.httpPort}${path}`, {
    method,
    headers: { accept: 'text/html', ...headers },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The values of a header in the requests for the API, without repetitions. */
const sent = (name: string) => [...new Set(api.requests.map(({ headers }) => headers[name]))];

describe('the page of a record', () => {
  test('is refused as soon as the API refuses the record', async () => {
    const before = await fetched(PAGE);
    expect([before.status, before.text]).toEqual([200, expect.stringContaining('Levels of the Danube')]);
    api.status = 403;
    const after = await fetched(PAGE);
    expect([after.status, after.text]).toEqual([403, expect.not.stringContaining('Levels of the Danube')]);
  });

  test.each([
    ['read past the cache of documents, if its own answer is to be new', 'no-cache', 'no-cache'],
    ['read as other clients read it otherwise', 'max-age=0', undefined],
  ])('is %s', async (_, caching, passed) => {
    await fetched(PAGE, { 'cache-control': caching });
    expect(api.requests.length).toBeGreaterThan(1);
    expect(sent('cache-control')).toEqual([passed]);
  });
});

describe('the address of a client', () => {
  const FORWARDED = { 'x-forwarded-for': '198.51.100.1' };
  test.each<[string, Record<string, string>, RegExp]>([
    ['is the peer', {}, /^[^,]*127\.0\.0\.1$/],
    ['has the peer behind a header that any client can send', FORWARDED, /^198\.51\.100\.1, .*127\.0\.0\.1$/],
    ['and behind a wrong key', { ...FORWARDED, 'x-web-key': 'x' }, /^198\.51\.100\.1, .*127\.0\.0\.1$/],
    ['is believed of the gateway', { ...FORWARDED, 'x-web-key': WEB_KEY }, /^198\.51\.100\.1$/],
  ])('%s', async (_, headers, expected) => {
    await fetched(PAGE, headers);
    expect(sent('x-forwarded-for')).toEqual([expect.stringMatching(expected)]);
    expect(sent('x-web-key')).toEqual([WEB_KEY]);
  });
});

describe('caching', () => {
  test.each([PAGE, '/feed.atom', '/sitemap.xml', '/oai2d?verb=Identify', MANIFEST, '/nothing'])(
    'no answer to a link is stored: %s',
    async (path) => {
      const { headers } = await fetched(`${path}${path.includes('?') ? '&' : '?'}token=secret`);
      expect(headers.get('cache-control')).toBe('private, no-store');
    },
  );

  test.each([200, 403])('an image service keeps what credentials opened private: %i', async (status) => {
    api.status = status;
    const { headers } = await fetched(MANIFEST, { authorization: 'Bearer x' });
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('vary')).toContain('Authorization');
  });

  test.each([
    ['/feed.atom', 'public, max-age=300'],
    [PAGE, 'no-cache'],
    [MANIFEST, 'no-cache'],
  ])('%s for everybody: %s', async (path, expected) => {
    expect((await fetched(path)).headers.get('cache-control')).toBe(expected);
  });
});

describe('image viewers of other sites', () => {
  test('may send credentials', async () => {
    const { status, headers } = await fetched(MANIFEST, {
      method: 'OPTIONS',
      origin: 'https://viewer.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(headers.get('access-control-allow-headers')).toBe('Authorization');
  });

  test.each([200, 401, 403, 404])('can read answers: %i', async (status) => {
    api.status = status;
    const answer = await fetched(MANIFEST, { origin: 'https://viewer.example' });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, '*']);
  });
});
