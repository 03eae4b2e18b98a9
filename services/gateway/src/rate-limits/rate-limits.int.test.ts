import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { until } from '@kr/testbed';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { exchange } from '../raw-exchange-fixture.ts';
import { LIFETIME_MS } from '../response-cache/response-cache.ts';

const MINUTE_MS = 60_000;
const ENTITY = '/api/records/e7vvn-90a62';

let gateway: GatewayUnderTest;
let ada: string;
let ben: string;

beforeAll(async () => {
  gateway = await startGateway({
    RATE_LIMIT_ANONYMOUS: '10',
    RATE_LIMIT_USER: '20',
    RATE_LIMIT_FAILED_CREDENTIALS: '3',
    TRUSTED_PROXIES: 'loopback',
  });
  ada = (await gateway.createUser('ada')).token;
  ben = (await gateway.createUser('ben')).token;
  gateway.script.records.ReadEntities = async ({ refs }) => ({
    results: refs.map((ref) => ({ ref, document: aDocument({ form: 'FORM_PUBLISHED' }) })),
  });
  gateway.script.search.Search = async () => ({ sortBy: 'newest', total: 0 });
  gateway.script.packages.Publish = async () => ({});
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.later(2 * MINUTE_MS);
  Reflect.deleteProperty(gateway.script.records, 'Authorise');
});

type Init = Parameters<GatewayUnderTest['fetch']>[1];

async function ask(path: string, init: Init = {}) {
  const response = await gateway.fetch(path, init);
  const { status, headers } = response;
  return {
    status,
    body: await response.json().catch(() => undefined),
    headers: {
      policy: headers.get('ratelimit-policy'),
      left: headers.get('ratelimit'),
      limit: headers.get('x-ratelimit-limit'),
      remaining: headers.get('x-ratelimit-remaining'),
      retryAfter: headers.get('retry-after'),
    },
    reset: headers.get('x-ratelimit-reset'),
  };
}

/** The number of equal requests until one is refused; 50 means unlimited. */
async function timesAnswered(path: string, init: Init = {}): Promise<number> {
  for (let times = 0; times < 50; times += 1) {
    if ((await ask(path, init)).status === 429) return times;
  }
  return 50;
}

const from = (address: string): Init => ({ headers: { 'x-forwarded-for': address } });

describe('a rate limit', () => {
  test('is in the headers of every answer, and a refusal has the time to wait', async () => {
    const first = await ask('/api/user', { token: ada });
    const now = Date.now() / 1_000;
    expect([first.status, first.headers]).toEqual([
      200,
      {
        policy: '"user";q=40;w=120',
        left: '"user";r=39;t=3',
        limit: '40',
        remaining: '39',
        retryAfter: null,
      },
    ]);
    expect(Math.abs(Number(first.reset) - now)).toBeLessThan(300);
    expect(await timesAnswered('/api/user', { token: ada })).toBe(39);
    const refused = await ask('/api/user', { token: ada });
    expect([refused.status, refused.body, refused.headers]).toEqual([
      429,
      {
        message: 'Too many requests of this user (20 per minute). Retry in 3 s.',
        status: 429,
        code: 'rate_limit_exceeded',
      },
      {
        policy: '"user";q=40;w=120',
        left: '"user";r=0;t=3',
        limit: '40',
        remaining: '0',
        retryAfter: '3',
      },
    ]);
    gateway.later(3_000);
    expect(await timesAnswered('/api/user', { token: ada })).toBe(1);
  });

  test('is of each user alone, and not of the address', async () => {
    await timesAnswered('/api/user', { token: ada });
    await timesAnswered('/api/ping');
    expect((await ask('/api/user', { token: ben })).headers.remaining).toBe('39');
  });

  test('is a problem document if that is accepted', async () => {
    await timesAnswered('/api/ping');
    const { body } = await ask('/api/ping', { headers: { accept: 'application/problem+json' } });
    expect(body).toMatchObject({ title: 'Too Many Requests', status: 429, code: 'rate_limit_exceeded' });
  });

  test.each<{ name: string; path: string; init?: Init; times: number }>([
    { name: 'a search', path: '/api/search?q=flood', times: 4 },
    { name: 'a search of records', path: '/api/records', times: 4 },
    { name: 'a search that shows only its headers', path: '/api/search', init: { method: 'HEAD' }, times: 4 },
    { name: 'a request that needs credentials', path: '/api/user', times: 20 },
    { name: 'a request with credentials that are none', path: '/api/ping', init: { token: 'x' }, times: 6 },
    { name: 'a request with an empty token', path: '/api/ping?access_token=', times: 6 },
    {
      name: 'a try of credentials by HEAD',
      path: '/api/ping',
      init: { token: 'x', method: 'HEAD' },
      times: 6,
    },
    { name: 'a path that is none', path: '/api/nowhere', times: 20 },
    { name: 'a path that is none, by OPTIONS', path: '/nowhere', init: { method: 'OPTIONS' }, times: 20 },
    { name: 'a path that is no UTF-8', path: '/api/records/%ff', times: 20 },
    { name: 'a path with control characters', path: '/api/records/%00', times: 20 },
    { name: 'a method that a path lacks', path: '/api/ping', init: { method: 'DELETE' }, times: 20 },
    { name: 'a target that is too long', path: `/${'x'.repeat(8_192)}`, times: 20 },
    { name: 'OPTIONS', path: '/api/records', init: { method: 'OPTIONS' }, times: 50 },
    {
      name: 'OPTIONS of uploads, which a service answers,',
      path: `${ENTITY}/draft/files/a.txt/tus`,
      init: { method: 'OPTIONS' },
      times: 20,
    },
    { name: 'HEAD of an entity', path: ENTITY, init: { method: 'HEAD' }, times: 20 },
    {
      name: 'HEAD of a file',
      path: `${ENTITY}/files/a.txt/content`,
      init: { method: 'HEAD' },
      times: 20,
    },
    { name: 'HEAD of a list of versions', path: `${ENTITY}/versions`, init: { method: 'HEAD' }, times: 20 },
    { name: 'HEAD of an archive', path: `${ENTITY}/files-archive`, init: { method: 'HEAD' }, times: 20 },
  ])('lets $name through $times times of 20', async ({ path, init, times }) => {
    expect(await timesAnswered(path, init)).toBe(times);
  });

  test('counts nothing, and hides nothing, when credentials cannot be checked', async () => {
    gateway.script.accessLinks.ResolveTokens = async () => {
      throw new ServiceError('unavailable', 'The links are away.');
    };
    const link = { headers: { authorization: 'AccessLink x' } };
    expect((await ask('/api/ping', link)).headers.remaining).toBeNull();
    await timesAnswered('/api/ping');
    expect((await ask('/api/ping', link)).status).toBe(503);
  });

  const UPLOAD = `${ENTITY}/draft/files/a.txt/tus/1`;

  test('counts no chunk of an upload under way', async () => {
    gateway.script.records.Authorise = async () => ({ ticket: 'ticket', filesEnabled: true, order: [] });
    gateway.script.content = (_request, response) => response.writeHead(204).end();
    const chunk = { token: ada, method: 'PATCH' };
    expect((await ask(UPLOAD, chunk)).status).toBe(204);
    expect(await timesAnswered(UPLOAD, chunk)).toBe(50);
    expect((await ask('/api/user', { token: ada })).headers.remaining).toBe('39');
    expect(await timesAnswered(UPLOAD, { method: 'PATCH' })).toBe(20);
  });

  test.each([
    ['PATCH', {}],
    ['GET', { 'x-http-method-override': 'PATCH' }],
  ])('counts a chunk sent by %s with %j as one request if it is refused', async (method, headers) => {
    const chunk = {
      token: ada,
      method,
      headers: { ...headers, 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' },
    };
    for (const kind of ['not_found', 'forbidden'] as const) {
      gateway.later(2 * MINUTE_MS);
      gateway.script.records.Authorise = async () => {
        throw new ServiceError(kind, 'Refused.');
      };
      const { status, headers } = await ask(UPLOAD, chunk);
      expect([status, headers.limit, headers.remaining]).toEqual([
        kind === 'forbidden' ? 403 : 404,
        '40',
        '39',
      ]);
      expect(await timesAnswered(UPLOAD, chunk)).toBe(39);
    }
  });

  test('does not count a chunk that fails because a service is unavailable', async () => {
    gateway.script.records.Authorise = async () => {
      throw new ServiceError('unavailable', 'Later.', { retryAfterMs: 1 });
    };
    const { status, headers } = await ask(UPLOAD, { token: ada, method: 'PATCH' });
    expect([status, headers.remaining]).toEqual([503, null]);
  });

  test('counts each HEAD of an upload, and refuses it by 423, which does not end the upload', async () => {
    const head = { token: ada, method: 'HEAD' };
    for (let times = 0; times < 40; times += 1) expect((await ask(UPLOAD, head)).status).not.toBe(423);
    const { status, headers } = await ask(UPLOAD, head);
    expect([status, headers.remaining, headers.retryAfter]).toEqual([423, '0', '3']);
    expect((await ask('/api/user', { token: ada })).status).toBe(429);
  });

  test.each(['GET', 'HEAD'])('counts %s of an audit log as five', async (method) => {
    expect(await timesAnswered(`${ENTITY}/audit-log`, { token: ada, method })).toBe(8);
  });

  test('counts what is no HTTP at all', async () => {
    await using strict = await startGateway({ RATE_LIMIT_ANONYMOUS: '10' });
    const statuses: string[] = [];
    for (let times = 0; times < 21; times += 1) {
      const answer = await exchange(strict.baseUrl, 'GET / HTTP/9.9\r\n\r\n');
      statuses.push(answer.slice(9, 12));
      if (times === 20) expect(answer.toLowerCase()).toContain('\r\nretry-after: 6\r\n');
    }
    expect(statuses).toEqual([...Array(20).fill('400'), '429']);
    expect((await strict.fetch('/api/ping')).status).toBe(429);
  });

  test('counts a publish as ten', async () => {
    const publish = { token: ada, method: 'POST' };
    expect(await timesAnswered(`${ENTITY}/draft/actions/publish`, publish)).toBe(4);
  });

  test('counts by the address that a trusted proxy names, and IPv6 by its network', async () => {
    expect(await timesAnswered('/api/ping', from('2001:db8:1:2::1'))).toBe(20);
    expect(await timesAnswered('/api/ping', from('2001:db8:1:2:ffff::2'))).toBe(0);
    expect(await timesAnswered('/api/ping', from('2001:db8:1:3::1'))).toBe(20);
    expect(await timesAnswered('/api/ping', from('198.51.100.1'))).toBe(20);
    expect((await ask('/api/ping')).headers.remaining).toBe('19');
  });

  test('holds for answers that are kept as for others, and is never kept with them', async () => {
    gateway.later(LIFETIME_MS);
    const remaining = [];
    for (const address of ['198.51.100.1', '198.51.100.1', '198.51.100.2']) {
      remaining.push((await ask(ENTITY, from(address))).headers.remaining);
    }
    expect(remaining).toEqual(['19', '18', '19']);
    expect(await timesAnswered(ENTITY, from('198.51.100.1'))).toBe(18);
    expect((await ask(ENTITY, from('198.51.100.1'))).headers.retryAfter).toBe('6');
  });

  test('that is switched off has no headers', async () => {
    await using free = await startGateway({ RATE_LIMIT_ANONYMOUS: '0', RATE_LIMIT_USER: '20' });
    const { headers } = await free.fetch('/api/ping');
    expect([...headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  });
});

describe('the limit of invalid credentials', () => {
  /** The number of look-ups of links in the script. */
  let lookups: number;
  const RIGHT = 'right';
  beforeEach(() => {
    lookups = 0;
    gateway.script.accessLinks.ResolveTokens = async ({ tokens }) => {
      lookups += 1;
      const isRight = tokens[0]?.startsWith(RIGHT);
      return { grants: isRight ? [{ linkId: 'l', parentId: 'p', permission: 'view' }] : [] };
    };
  });

  const asLink = (token: string, address = '198.51.100.1'): Init => ({
    headers: { authorization: `AccessLink ${token}`, 'x-forwarded-for': address },
  });

  test('is named in the refusal, after which no further one is looked up', async () => {
    expect(await timesAnswered('/api/ping', asLink('wrong'))).toBe(6);
    expect(lookups).toBe(6);
    const refused = await ask('/api/ping', asLink('wrong'));
    expect([refused.status, refused.body, refused.headers]).toEqual([
      429,
      expect.objectContaining({
        message: 'Too many failed sign-ins from this address (3 per minute). Retry in 20 s.',
      }),
      {
        policy: '"failed-credentials";q=6;w=120',
        left: '"failed-credentials";r=0;t=20',
        limit: '6',
        remaining: '0',
        retryAfter: '20',
      },
    ]);
    expect((await ask('/api/ping', asLink('right-guess'))).status).toBe(429);
    expect((await ask('/api/ping', { ...from('198.51.100.1'), token: 'x' })).status).toBe(429);
    expect(lookups).toBe(6);
    expect((await ask('/api/ping', asLink('wrong', '198.51.100.2'))).status).toBe(401);
    gateway.later(20_000);
    expect(await timesAnswered('/api/ping', asLink('wrong'))).toBe(1);
  });

  test('holds for a token parameter that adds nothing', async () => {
    expect(await timesAnswered('/api/ping?token=wrong', from('198.51.100.1'))).toBe(6);
    expect(lookups).toBe(6);
  });

  test('does not apply to anonymous requests, nor to credentials that were valid before', async () => {
    const { token: cyd } = await gateway.createUser('cyd');
    const [link, user] = [asLink(RIGHT), { ...from('198.51.100.1'), token: ada }];
    expect([(await ask('/api/ping', link)).status, (await ask('/api/user', user)).status]).toEqual([
      200, 200,
    ]);
    expect(await timesAnswered('/api/ping', asLink('wrong'))).toBe(6);
    expect((await ask('/api/ping', from('198.51.100.1'))).status).toBe(200);
    expect([(await ask('/api/ping', link)).status, (await ask('/api/user', user)).status]).toEqual([
      200, 200,
    ]);
    expect((await ask('/api/user', { ...user, token: cyd })).status).toBe(429);
  });

  test('holds for those again that were good and are no more', async () => {
    await ask('/api/ping', asLink('right-once'));
    gateway.script.accessLinks.ResolveTokens = async () => ({ grants: [] });
    await until(async () => (await ask('/api/ping', asLink('right-once'))).status === 401);
    expect(await timesAnswered('/api/ping', asLink('wrong'))).toBe(5);
    expect((await ask('/api/ping', asLink('right-once'))).status).toBe(429);
  });

  test('counts all attempts, also concurrent ones', async () => {
    await Promise.all(Array.from({ length: 12 }, (_, index) => ask('/api/ping', asLink(`wrong${index}`))));
    const tried = lookups;
    gateway.later(20_000 * (tried - 6));
    expect((await ask('/api/ping', asLink('wrong'))).status).toBe(429);
    gateway.later(20_000);
    expect((await ask('/api/ping', asLink('wrong'))).status).toBe(401);
  });
});

describe('the time of a search', () => {
  const left = async () => Number((await ask('/api/search', { token: ada })).headers.remaining);
  const scripted = (answer: () => Promise<object>) => {
    gateway.script.search.Search = answer;
  };

  test('is charged beyond the weight of a search', async () => {
    scripted(async () => ({ sortBy: 'newest', total: 0, engineMs: 100 }));
    expect(await left()).toBe(35);
    scripted(async () => ({ sortBy: 'newest', total: 0, engineMs: 240 }));
    expect(await left()).toBe(23);
  });

  test('is charged when the search fails', async () => {
    scripted(async () => {
      throw new ServiceError('unavailable', 'The search took too long.', {
        code: 'search_timeout',
        usedMs: 700,
      });
    });
    expect(await left()).toBe(5);
  });

  test('is charged in full, and keeps its caller away until it is paid', async () => {
    scripted(async () => ({ sortBy: 'newest', total: 0, engineMs: 4_000 }));
    expect(await left()).toBe(0);
    expect((await ask('/api/search', { token: ada })).status).toBe(429);
    expect((await ask('/api/search', { token: ben })).status).toBe(200);
  });

  test('is of the caller that the search service gets', async () => {
    const callers: string[] = [];
    gateway.script.search.Search = async ({ caller }) => {
      callers.push(caller);
      return { sortBy: 'newest', total: 0 };
    };
    const { token } = await gateway.createUser('cleo');
    await ask('/api/search', { token });
    await ask('/api/search', from('192.0.2.7'));
    expect(callers).toEqual([expect.stringMatching(/^user /), 'address 192.0.2.7']);
  });
});
