import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { toErrorDetail } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { exchange } from '../raw-exchange-fixture.ts';
import { LIFETIME_MS } from '../response-cache/response-cache.ts';

let gateway: GatewayUnderTest;
let token: string;

beforeAll(async () => {
  gateway = await startGateway({}, { limits: { bodyMaxBytes: 2_048 } });
  ({ token } = await gateway.createUser('ada'));
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.later(LIFETIME_MS);
  for (const part of ['records', 'packages', 'files', 'accessLinks', 'search'] as const)
    gateway.script[part] = {};
});

async function ask(path: string, init: Parameters<GatewayUnderTest['fetch']>[1] = {}) {
  const response = await gateway.fetch(path, init);
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json' && text !== '';
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

const UNKNOWN_URL = {
  message:
    'The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.',
  status: 404,
  code: 'unknown_url',
};

describe('routing', () => {
  test.each([
    '/api/nowhere',
    '/api/records/',
    '/api/Records',
    '/api//records',
    '/api/records/x/review',
    '/%ff',
    '/api/records/%ff',
    '/api/records/a%00b',
    '/api/records/x/draft/files/a%0Ab',
  ])('%s is no URL', async (path) => {
    const { status, body } = await ask(path, { token });
    expect([status, body]).toEqual([404, UNKNOWN_URL]);
  });

  test.each([
    ['PUT', '/api/records/x', 'OPTIONS, HEAD, GET, DELETE'],
    ['PATCH', '/api/packages', 'OPTIONS, HEAD, GET, POST'],
    ['POST', '/api/records/x/files', 'OPTIONS, HEAD, GET'],
    ['GET', '/api/packages/x/context', 'OPTIONS, PUT'],
    ['POST', '/api/packages/context/x/resources', 'OPTIONS, HEAD, GET'],
    ['PUT', '/api/packages/x/access/links/y', 'OPTIONS, HEAD, GET, PATCH, DELETE'],
    ['DELETE', '/', 'OPTIONS, HEAD, GET'],
  ])('%s %s is not allowed, and the allowed methods are listed', async (method, path, allow) => {
    const { status, body, headers } = await ask(path, { method, token });
    expect([status, body, headers.get('allow')]).toEqual([
      405,
      {
        message: 'The method is not allowed for the requested URL.',
        status: 405,
        code: 'method_not_allowed',
      },
      allow,
    ]);
  });

  test('OPTIONS lists the methods of a path without credentials', async () => {
    const { status, body, headers } = await ask('/api/records', { method: 'OPTIONS' });
    expect([status, body, headers.get('allow')]).toEqual([200, '', 'OPTIONS, HEAD, GET, POST']);
  });

  test('a context is listed by its own path, and no package is called context', async () => {
    const calls: string[] = [];
    gateway.script.packages.ListContextResources = async ({ packageParentId }) => {
      calls.push(packageParentId);
      return { ids: [] };
    };
    gateway.script.packages.ReadLatest = async ({ id }) => {
      calls.push(`latest of ${id}`);
      throw new ServiceError('not_found', 'The persistent identifier does not exist.');
    };
    gateway.script.search.Search = async () => ({});
    await ask('/api/packages/context/qbyhw-yw493/resources', { token });
    await ask('/api/packages/context/versions/latest');
    expect(calls).toEqual(['qbyhw-yw493', 'latest of context']);
  });

  test('the welcome page, the ping and the description of the interface are open', async () => {
    const [welcome, ping, description, yaml] = await Promise.all(
      ['/', '/api/ping', '/api/openapi.json', '/api/openapi.yaml'].map((path) => ask(path)),
    );
    expect([
      welcome?.status,
      ping?.body,
      description?.body.openapi,
      description?.body.servers,
      yaml?.status,
    ]).toEqual([200, 'OK', '3.1.0', [{ url: gateway.baseUrl }], 200]);
  });
});

describe('order of the checks', () => {
  const bad = { headers: { accept: 'image/png', 'content-type': 'text/plain' }, body: '{', method: 'PUT' };

  test.each<{
    name: string;
    init: RequestInit & { token?: string };
    status: number;
    message: string;
    code: string;
  }>([
    {
      name: 'credentials',
      init: bad,
      status: 401,
      message: 'Authentication required.',
      code: 'unauthenticated',
    },
    {
      name: 'then the representation',
      init: { ...bad, token: 'ada' },
      status: 406,
      message:
        "Invalid 'Accept' header. Expected one of: application/json, application/vnd.inveniordm.v1+json",
      code: 'not_acceptable',
    },
    {
      name: 'then the body’s type',
      init: { ...bad, headers: { 'content-type': 'text/plain' }, token: 'ada' },
      status: 415,
      message:
        'Invalid \'Content-Type\' header. Expected one of: application/json, application/ld+json;profile="https://w3id.org/ro/crate/1.1"',
      code: 'unsupported_media_type',
    },
    {
      name: 'then the body',
      init: { ...bad, headers: { 'content-type': 'application/json' }, token: 'ada' },
      status: 400,
      message: 'Unable to decode JSON data in request body.',
      code: 'invalid',
    },
    {
      name: 'then the error of the service',
      init: { method: 'PUT', body: '{}', headers: { 'content-type': 'application/json' }, token: 'ada' },
      status: 404,
      message: 'The persistent identifier does not exist.',
      code: 'not_found',
    },
  ])('$name', async ({ init, status, message, code }) => {
    gateway.script.records.UpdateDraft = async () => {
      throw new ServiceError('not_found', 'The persistent identifier does not exist.');
    };
    const answer = await ask('/api/records/x/draft', init.token === undefined ? init : { ...init, token });
    expect([answer.status, answer.body]).toEqual([status, { status, message, code }]);
  });

  test('a caller who may not change a context does not see the problems of the body', async () => {
    gateway.script.packages.Associate = async ({ body }) => {
      expect(body.toString()).toBe('{}');
      throw new ServiceError('forbidden', 'Permission denied.');
    };
    const { status, body } = await ask('/api/packages/x/context/actions/associate', {
      method: 'POST',
      token,
      body: '{}',
    });
    expect([status, body]).toEqual([403, { status: 403, message: 'Permission denied.', code: 'forbidden' }]);
  });
});

describe('bodies', () => {
  test('of any type or none are accepted, and reach the service unchanged', async () => {
    const bodies: string[] = [];
    gateway.script.records.CreateDraft = async ({ body }) => {
      bodies.push(body.toString());
      return { document: aDocument() };
    };
    const inputs = ['{"metadata": {"title": "x"}}', '[]', 'null', ''];
    for (const body of inputs) {
      const answer = await ask('/api/records', { method: 'POST', token, body: Buffer.from(body) });
      expect(answer.status).toBe(201);
    }
    expect(bodies).toEqual(inputs);
  });

  test('that are too large are refused by their declared and by their counted length', async () => {
    const large = `"${'x'.repeat(4_000)}"`;
    const answer = [
      413,
      { status: 413, message: 'The request body is larger than 2048 bytes.', code: 'too_large' },
    ];
    const declared = await ask('/api/records', { method: 'POST', token, body: large });
    const counted = await ask('/api/records', {
      method: 'POST',
      token,
      body: new Blob([large]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect([declared.status, declared.body]).toEqual(answer);
    expect([counted.status, counted.body]).toEqual(answer);
  });

  test('that are compressed are refused', async () => {
    const { status } = await ask('/api/records', {
      method: 'POST',
      token,
      body: 'x',
      headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' },
    });
    expect(status).toBe(415);
  });

  test('that do not arrive are not awaited', async () => {
    await using hasty = await startGateway({}, { limits: { bodyTimeoutMs: 300 } });
    const { token: other } = await hasty.createUser('ada');
    const answer = await exchange(
      hasty.baseUrl,
      `POST /api/records HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${other}\r\nContent-Length: 10\r\n\r\n{`,
    );
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 408 Request Timeout');
  });
});

describe('limits', () => {
  test('long addresses and many headers are refused', async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-h${index}`, '1']));
    expect((await ask(`/api/ping?${'x'.repeat(9_000)}`)).status).toBe(414);
    expect((await ask('/api/ping', { headers: many })).status).toBe(431);
  });
});

describe('an entity', () => {
  beforeEach(() => {
    gateway.script.records.ReadEntities = async ({ refs }) => ({
      results: refs.map((ref) => ({ ref, document: aDocument({ form: 'FORM_PUBLISHED', revision: 7 }) })),
    });
  });

  test('is shown with links, its own type and its revision', async () => {
    const { status, body, headers } = await ask('/api/records/e7vvn-90a62', {
      headers: { accept: 'application/vnd.inveniordm.v1+json' },
    });
    const document = JSON.parse(body);
    expect([
      status,
      headers.get('content-type'),
      headers.get('etag'),
      headers.get('set-cookie'),
      headers.get('x-powered-by'),
      document.links.self,
      document.created,
    ]).toEqual([
      200,
      'application/vnd.inveniordm.v1+json',
      '"7.ui"',
      null,
      null,
      `${gateway.baseUrl}/api/records/e7vvn-90a62`,
      '2026-11-21 06:54:43.929200',
    ]);
  });

  test('is not sent again to a client that has it', async () => {
    const { status, body, headers } = await ask('/api/records/e7vvn-90a62', {
      headers: { 'if-none-match': '"6", W/"7"' },
    });
    expect([status, body, headers.get('etag')]).toEqual([304, '', '"7"']);
    const other = await ask('/api/records/e7vvn-90a62', { headers: { 'if-match': '"6"' } });
    const same = await ask('/api/records/e7vvn-90a62', { headers: { 'if-match': '"6", W/"7"' } });
    expect([other.status, other.headers.get('etag'), same.status]).toEqual([412, '"7"', 200]);
  });

  test('is shown to HEAD without its body', async () => {
    const get = await ask('/api/records/e7vvn-90a62');
    const head = await ask('/api/records/e7vvn-90a62', { method: 'HEAD' });
    expect([head.status, head.body, head.headers.get('content-length')]).toEqual([
      200,
      '',
      get.headers.get('content-length'),
    ]);
  });

  test('is indented on request', async () => {
    const response = await gateway.fetch('/api/records/e7vvn-90a62?prettyprint=1');
    const text = await response.text();
    expect(text.split('\n').slice(0, 3)).toEqual([
      '{',
      '  "created": "2026-11-21 06:54:43.929200",',
      '  "id": "e7vvn-90a62",',
    ]);
  });

  test('that is unavailable has a reason and a Retry-After', async () => {
    gateway.script.records.ReadEntities = async ({ refs }) => ({
      results: refs.map((ref) => ({
        ref,
        error: toErrorDetail(new ServiceError('unavailable', 'Not decided yet.', { retryAfterMs: 1_000 })),
      })),
    });
    const { status, body, headers } = await ask('/api/records/e7vvn-90a62');
    expect([status, body, headers.get('retry-after')]).toEqual([
      503,
      { status: 503, message: 'Not decided yet.', code: 'unavailable' },
      '1',
    ]);
  });

  test('whose service breaks shows nothing of it', async () => {
    gateway.script.records.ReadEntities = async () => {
      throw new Error('select * from secrets');
    };
    const { status, body } = await ask('/api/records/e7vvn-90a62');
    expect([status, JSON.stringify(body).includes('secrets')]).toEqual([500, false]);
  });

  test('is published by its coordinator and then shown', async () => {
    const calls: unknown[] = [];
    gateway.script.packages.Publish = async ({ subject, id }, { principal }) => {
      calls.push({ subject, id, by: principal.userId !== null });
      return {};
    };
    const { status } = await ask('/api/records/e7vvn-90a62/draft/actions/publish', { method: 'POST', token });
    expect([status, calls]).toEqual([202, [{ subject: 'SUBJECT_RECORD', id: 'e7vvn-90a62', by: true }]]);
  });

  test('is changed only at the revision that is demanded', async () => {
    const calls: unknown[] = [];
    gateway.script.packages.UpdateDraft = async ({ id, ifRevision }) => {
      calls.push([id, ifRevision]);
      throw new ServiceError('precondition_failed', "Revision id provided(3) doesn't match record's one(4)", {
        currentRevision: 4,
      });
    };
    const { status, body, headers } = await ask('/api/packages/x/draft', {
      method: 'PUT',
      token,
      body: '{}',
      headers: { 'content-type': 'application/json', 'if-match': 'W/"3"' },
    });
    expect([status, headers.get('etag'), body.message, calls]).toEqual([
      412,
      '"4"',
      "Revision id provided(3) doesn't match record's one(4)",
      [['x', '3']],
    ]);
  });

  test('that is published is not deleted', async () => {
    const { status, body } = await ask('/api/records/e7vvn-90a62', { method: 'DELETE', token });
    expect([status, body]).toEqual([
      403,
      {
        status: 403,
        message: 'Permission denied.',
        code: 'forbidden',
        hint: 'Published entities cannot be deleted; an administrator can remove them.',
      },
    ]);
  });

  test('of a new package has what the REST document shows', async () => {
    gateway.script.packages.CreateDraft = async () => ({ document: aDocument() });
    const { body } = await ask('/api/packages', { method: 'POST', token });
    expect([body.expanded, body.created]).toEqual([{}, '2026-11-21T06:54:43.929200+00:00']);
  });
});

describe('access links', () => {
  const grant = { linkId: 'l', parentId: 'p', permission: 'preview' };

  beforeEach(() => {
    gateway.script.records.ReadEntities = async ({ refs }, { principal }) => ({
      results: refs.map((ref) => ({
        ref,
        document: aDocument({}, { by: [principal.userId !== null, principal.grants] }),
      })),
    });
    gateway.script.accessLinks.ResolveTokens = async ({ tokens }) => ({
      grants: tokens.includes('good') ? [grant] : [],
      hasEnded: tokens.includes('ended'),
    });
  });

  test.each<{
    name: string;
    path: string;
    headers?: Record<string, string>;
    withUser?: boolean;
    by: unknown;
  }>([
    { name: 'add no rights', path: '?token=good', by: [false, [grant]] },
    { name: 'add to a user’s rights', path: '?token=good', withUser: true, by: [true, [grant]] },
    {
      name: 'are accepted in the header too',
      path: '',
      headers: { authorization: 'AccessLink good' },
      by: [false, [grant]],
    },
    { name: 'that are invalid add nothing', path: '?token=bad', by: [false, []] },
  ])('$name', async ({ path, headers = {}, withUser = false, by }) => {
    const { body } = await ask(
      `/api/records/e7vvn-90a62${path}`,
      withUser ? { headers, token } : { headers },
    );
    expect(body.by).toEqual(by);
  });

  test('are credentials for drafts when they hold, and none when they do not', async () => {
    const good = await ask('/api/records/e7vvn-90a62/draft?token=good');
    const bad = await ask('/api/records/e7vvn-90a62/draft?token=bad');
    expect([good.status, bad.status, bad.body.message]).toEqual([200, 401, 'Authentication required.']);
  });

  test.each([
    ['/api/records/e7vvn-90a62/draft?token=ended', {}, 'Authentication required.'],
    [
      '/api/records/e7vvn-90a62/draft',
      { authorization: 'AccessLink ended' },
      'The access link is unknown, revoked or expired.',
    ],
  ])('that have expired or were revoked are named in the refusal: %s %j', async (path, headers, message) => {
    const { status, body } = await ask(path, { headers });
    expect([status, body]).toEqual([
      401,
      {
        status: 401,
        message,
        code: 'access_link_expired',
        hint: 'The access link has expired or was revoked. Request a new one from its owner.',
      },
    ]);
  });

  test('that have ended do not prevent public reads', async () => {
    const { status } = await ask('/api/records/e7vvn-90a62?token=ended');
    expect(status).toBe(200);
  });

  test('in a header that hold nothing are refused', async () => {
    const { status, body } = await ask('/api/records/x', { headers: { authorization: 'AccessLink bad' } });
    expect([status, body.message]).toEqual([401, 'The access link is unknown, revoked or expired.']);
  });

  test('appear neither in caches nor in the address of the next page nor in forwarded requests', async () => {
    gateway.script.search.Search = async () => ({ sortBy: 'newest', total: 100 });
    const { body, headers } = await ask('/api/records?token=good');
    expect([headers.get('cache-control'), headers.get('referrer-policy'), body.links.next]).toEqual([
      'private, no-store',
      'no-referrer',
      `${gateway.baseUrl}/api/records?page=2&size=10&sort=newest`,
    ]);
  });

  test('are shown with two ways of writing an instant', async () => {
    gateway.script.records.Authorise = async ({ action }) => ({ ticket: `ticket for ${action}` });
    gateway.script.accessLinks.CreateLink = async ({ ticket, body }) => ({
      link: {
        id: ticket,
        permission: JSON.parse(body.toString()).permission,
        createdAt: { seconds: 1795244083, nanos: 929_200_000 },
        expiresAt: { seconds: 1893456000 },
        token: 'kl1_x',
      },
    });
    const { status, body } = await ask('/api/records/x/access/links', {
      method: 'POST',
      token,
      body: '{"permission":"view"}',
    });
    expect([status, body]).toEqual([
      201,
      {
        id: 'ticket for manage_links',
        created_at: '2026-11-21T06:54:43.929200',
        expires_at: '2030-01-01T00:00:00+00:00',
        permission: 'view',
        token: 'kl1_x',
      },
    ]);
  });
});

describe('search', () => {
  test('renders the hits of both kinds in their order and leaves out what has gone', async () => {
    const calls: unknown[] = [];
    gateway.script.search.Search = async (request) => {
      const { listing, kinds, q, size, page, sort, allVersions, filters } = request;
      calls.push({ listing, kinds, q, size, page, sort, allVersions, filters });
      return {
        hits: [
          { kind: 'package', id: 'p1' },
          { kind: 'record', id: 'gone' },
          { kind: 'record', id: 'r1' },
          { kind: 'package', id: 'p2' },
        ],
        total: 12,
        aggregationsJson: Buffer.from('{"subject":{"buckets":[],"label":"Subjects"}}'),
        sortBy: 'bestmatch',
        effectiveFilters: [{ name: 'subject', values: ['a', 'b'] }],
      };
    };
    const found = (kindId: string) => aDocument({ id: kindId, form: 'FORM_PUBLISHED' });
    gateway.script.records.ReadEntities = async ({ refs }) => ({
      results: refs.map((ref) =>
        ref.id === 'gone'
          ? { ref, error: toErrorDetail(new ServiceError('not_found', 'Not found.')) }
          : { ref, document: found(ref.id) },
      ),
    });
    gateway.script.packages.ReadEntities = async ({ refs }) => ({
      results: refs.map((ref) => ({ ref, document: found(ref.id) })),
    });
    const { body } = await ask('/api/search?q=flood&subject=b&subject=a&size=4&page=2&wibble=1');
    const url = `${gateway.baseUrl}/api/search`;
    expect([
      calls,
      { ...body, hits: { ...body.hits, hits: body.hits.hits.map((hit: { id: string }) => hit.id) } },
    ]).toEqual([
      [
        {
          listing: 'LISTING_PUBLISHED',
          kinds: ['record', 'package'],
          q: 'flood',
          size: 4,
          page: 2,
          sort: '',
          allVersions: false,
          filters: [
            { name: 'subject', values: ['b', 'a'] },
            { name: 'wibble', values: ['1'] },
          ],
        },
      ],
      {
        hits: { hits: ['p1', 'r1', 'p2'], total: 12 },
        aggregations: { subject: { buckets: [], label: 'Subjects' } },
        sortBy: 'bestmatch',
        links: {
          self: `${url}?page=2&q=flood&size=4&sort=bestmatch&subject=a&subject=b`,
          prev: `${url}?page=1&q=flood&size=4&sort=bestmatch&subject=a&subject=b`,
          next: `${url}?page=3&q=flood&size=4&sort=bestmatch&subject=a&subject=b`,
        },
      },
    ]);
  });

  test('omits undecidable hits, and fails when a whole service is unavailable', async () => {
    const hits = ['r1', 'r2'].map((id) => ({ kind: 'record', id }));
    gateway.script.search.Search = async () => ({ hits, total: 2 });
    const error = toErrorDetail(new ServiceError('unavailable', 'Not decided yet.'));
    gateway.script.records.ReadEntities = async ({ refs }) => ({
      results: refs.map((ref) =>
        ref.id === 'r1' ? { ref, error } : { ref, document: aDocument({ id: ref.id, form: ref.form }) },
      ),
    });
    const { status, body } = await ask('/api/search');
    expect([status, body.hits.hits.map(({ id }: { id: string }) => id)]).toEqual([200, ['r2']]);
    gateway.script.records.ReadEntities = async () => {
      throw new ServiceError('unavailable', 'Away.');
    };
    expect((await ask('/api/search')).status).toBe(503);
  });

  test('lists versions under their own address', async () => {
    gateway.script.packages.ListVersions = async ({ size, page }) => ({
      documents: [aDocument({ id: `v of ${size} ${page}`, form: 'FORM_PUBLISHED' })],
      total: 1,
      accessStatuses: { open: 1 },
    });
    const { body } = await ask('/api/packages/x/versions');
    const counted = body.aggregations.access_status.buckets[0].doc_count;
    expect([body.hits.total, body.hits.hits[0].id, counted, body.sortBy, body.links]).toEqual([
      1,
      'v of 10 1',
      1,
      'version',
      { self: `${gateway.baseUrl}/api/packages/x/versions?page=1&size=10&sort=version` },
    ]);
  });
});
