import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const PAGE = 'https://portal.example.org';
const ENTITY = '/api/records/e7vvn-90a62';

let gateway: GatewayUnderTest;

async function start(origins: string): Promise<void> {
  gateway = await startGateway({ CORS_ALLOWED_ORIGINS: origins, RATE_LIMIT_ANONYMOUS: '500' });
  gateway.script.records.ReadEntities = async ({ refs }) => ({
    results: refs.map((ref) => ({ ref, document: aDocument({ form: 'FORM_PUBLISHED' }) })),
  });
}

interface ChangeLog {
  status: number;
  /** The origin whose page may read the answer. */
  readers: string | undefined;
  vary: string | undefined;
  headers: Record<string, string | string[] | undefined>;
}

/** fetch() sends no `Origin` of ours. */
function ask(method: string, path: string, headers: Record<string, string> = {}): Promise<ChangeLog> {
  return new Promise((resolve, reject) => {
    request(`${gateway.baseUrl}${path}`, { method, headers }, (response) => {
      response.resume().on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          readers: response.headers['access-control-allow-origin'],
          vary: response.headers.vary,
          headers: response.headers,
        }),
      );
    })
      .on('error', reject)
      .end();
  });
}

const preflight = (path: string, method: string, origin = PAGE) =>
  ask('OPTIONS', path, { origin, 'access-control-request-method': method });

const listed = (header: unknown): string[] =>
  String(header)
    .split(',')
    .map((name) => name.trim().toLowerCase());

describe('with origins that may read', () => {
  beforeAll(() => start(`${PAGE}, http://localhost:3000`));
  afterAll(() => gateway?.stop());

  test.each([
    { name: 'an answer', method: 'GET', path: '/api/ping', status: 200 },
    { name: 'an entity', method: 'GET', path: ENTITY, status: 200 },
    { name: 'the same once more, from the cache', method: 'GET', path: ENTITY, status: 200 },
    { name: 'a refusal', method: 'GET', path: '/api/user', status: 401 },
    { name: 'an unknown address', method: 'GET', path: '/api/nowhere', status: 404 },
    { name: 'a wrong method', method: 'PUT', path: '/api/search', status: 405 },
    { name: 'an address that is too long', method: 'GET', path: `/${'x'.repeat(9_000)}`, status: 414 },
    { name: 'the methods of an address', method: 'OPTIONS', path: '/api/records', status: 200 },
  ])('pages of theirs read $name, and no others', async ({ method, path, status }) => {
    const origins = [PAGE, 'http://localhost:3000', 'https://evil.example', 'null', `${PAGE}.evil.example`];
    const results = [];
    for (const origin of origins) {
      const answer = await ask(method, path, { origin });
      results.push([answer.status, answer.readers, answer.vary]);
    }
    const vary = 'Accept, Authorization, Origin';
    expect(results).toEqual([
      [status, PAGE, vary],
      [status, 'http://localhost:3000', vary],
      [status, undefined, vary],
      [status, undefined, vary],
      [status, undefined, vary],
    ]);
    const plain = await ask(method, path);
    expect([plain.status, plain.readers, plain.vary]).toEqual([status, undefined, vary]);
  });

  test('credentials in the sense of browsers are never allowed', async () => {
    const answers = [await ask('GET', ENTITY, { origin: PAGE }), await preflight(ENTITY, 'PUT')];
    expect(answers.map(({ headers }) => headers['access-control-allow-credentials'])).toEqual([
      undefined,
      undefined,
    ]);
  });

  test.each([
    ['/api/records', 'POST'],
    ['/api/records/x/draft', 'PUT'],
    ['/api/records/x/draft/files/a/content', 'PUT'],
    ['/api/records/x/draft/files/a/tus', 'POST'],
    ['/api/records/x/draft/files/a/tus/1', 'PATCH'],
    ['/api/records/x/access/links/1', 'DELETE'],
    ['/api/nowhere', 'GET'],
  ])('a preflight of %s is answered without credentials, and calls no service', async (path, method) => {
    const { status, readers, headers } = await preflight(path, method);
    expect([
      status,
      readers,
      headers['access-control-max-age'],
      headers['content-length'],
      headers['tus-resumable'],
      headers['ratelimit'],
      headers['x-content-type-options'],
    ]).toEqual([204, PAGE, '3600', '0', undefined, undefined, 'nosniff']);
    expect(listed(headers['access-control-allow-methods'])).toContain(method.toLowerCase());
  });

  test('a preflight of another origin gets no allowed origin', async () => {
    expect((await preflight('/api/records', 'POST', 'https://evil.example')).readers).toBeUndefined();
  });

  test('pages may send what a client of files and uploads sends, and read what it reads', async () => {
    const { headers } = await preflight('/api/records/x/draft/files/a/tus', 'POST');
    expect(listed(headers['access-control-allow-headers'])).toEqual(
      expect.arrayContaining([
        'authorization',
        'content-type',
        'if-match',
        'idempotency-key',
        'upload-offset',
      ]),
    );
    const read = await ask('GET', ENTITY, { origin: PAGE });
    const readable = listed(read.headers['access-control-expose-headers']);
    expect(readable).toEqual(expect.arrayContaining(['content-range', 'repr-digest', 'tus-version']));
    // All headers that matter to a program.
    const hidden = Object.keys(read.headers).filter((name) => !readable.includes(name));
    expect(hidden.sort()).toEqual([
      'access-control-allow-origin',
      'access-control-expose-headers',
      'cache-control',
      'connection',
      'content-security-policy',
      'content-type',
      'date',
      'keep-alive',
      'referrer-policy',
      'vary',
      'x-content-type-options',
      'x-frame-options',
    ]);
  });
});

describe('with all origins', () => {
  beforeAll(() => start('*'));
  afterAll(() => gateway?.stop());

  test('every page reads what it may see without credentials of the browser', async () => {
    const { status, readers, vary } = await ask('GET', ENTITY, { origin: 'https://anybody.example' });
    expect([status, readers, vary]).toEqual([200, '*', 'Accept, Authorization']);
    expect((await preflight('/api/records', 'POST', 'null')).readers).toBe('*');
  });
});

describe('with no origins', () => {
  beforeAll(() => start(''));
  afterAll(() => gateway?.stop());

  test('no page of another origin reads anything', async () => {
    const read = await ask('GET', ENTITY, { origin: PAGE });
    const allowed = await preflight('/api/records', 'POST');
    expect([read.status, read.readers, read.vary]).toEqual([200, undefined, 'Accept, Authorization']);
    expect([allowed.status, allowed.readers, allowed.headers['allow']]).toEqual([
      200,
      undefined,
      'OPTIONS, HEAD, GET, POST',
    ]);
  });
});
