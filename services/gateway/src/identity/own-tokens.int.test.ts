import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import pg from 'pg';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

interface Token {
  id: string;
  name: string;
  scopes: string[];
  created: string;
  expires_at: string | null;
  last_used: string | null;
  links: { self: string };
  token?: string;
}

let one: GatewayUnderTest;
let other: GatewayUnderTest;
let database: pg.Client;
beforeAll(async () => {
  one = await startGateway({}, { limits: { tokensPerUser: 6, tokenLifetimeDays: 30 } });
  // Two replicas share the database.
  other = await startGateway({ DATABASE_URL: one.databaseUrl });
  database = new pg.Client(one.databaseUrl);
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await other?.stop();
  await one?.stop();
});

async function call<Body>(
  method: string,
  path: string,
  {
    token,
    body,
    gateway = one,
    headers = {},
  }: {
    token: string;
    body?: unknown;
    gateway?: GatewayUnderTest;
    headers?: Record<string, string>;
  },
) {
  const response = await gateway.fetch(path, {
    method,
    token,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    text,
    body: (text === '' ? undefined : JSON.parse(text)) as Body,
  };
}

const TOKENS = '/api/user/tokens';
const list = async (token: string) =>
  (await call<{ hits: { hits: Token[]; total: number } }>('GET', TOKENS, { token })).body.hits;
const make = async (token: string, body: object) =>
  (await call<Token & { token: string }>('POST', TOKENS, { token, body })).body;

describe('the tokens of a user', () => {
  test('are made, used, listed and revoked', async () => {
    const { token } = await one.createUser('ada');
    const made = await make(token, { name: ' on my laptop ', scopes: ['publish', 'write', 'write'] });
    expect(made).toEqual({
      id: expect.any(String),
      name: 'on my laptop',
      scopes: ['write', 'publish'],
      created: expect.any(String),
      expires_at: expect.any(String),
      last_used: null,
      links: { self: `${one.baseUrl}${TOKENS}/${made.id}` },
      token: expect.stringMatching(/^kpat_/),
    });
    const lifetimeMs = Date.parse(made.expires_at ?? '') - Date.parse(made.created);
    expect(lifetimeMs).toBe(30 * 86_400_000);

    expect((await call('GET', '/api/user', { token: made.token })).status).toBe(200);
    const { hits, total } = await until(async () => {
      const listed = await list(token);
      return listed.hits[0]?.last_used === null ? undefined : listed;
    });
    expect([total, hits.map(({ name }) => name)]).toEqual([2, ['on my laptop', 'made by an operator']]);
    expect(hits[0]?.last_used).toMatch(/T\d\d:00:00\.000Z$/);
    expect(JSON.stringify(hits)).not.toContain('kpat_');

    expect((await call('GET', '/api/user', { token: made.token, gateway: other })).status).toBe(200);
    expect((await call('DELETE', `${TOKENS}/${made.id}`, { token })).status).toBe(204);
    for (const gateway of [one, other])
      expect((await call('GET', '/api/user', { token: made.token, gateway })).status).toBe(401);
    expect((await list(token)).total).toBe(1);
    expect((await call('DELETE', `${TOKENS}/${made.id}`, { token })).status).toBe(404);
  });

  test('are private to their user', async () => {
    const [mine, theirs] = [await one.createUser('eva'), await one.createUser('bob')];
    const { id } = await make(mine.token, { name: 'mine' });
    expect((await call('DELETE', `${TOKENS}/${id}`, { token: theirs.token })).status).toBe(404);
    expect((await list(mine.token)).total).toBe(2);
    expect((await list(theirs.token)).total).toBe(1);
  });

  test('are limited in number, also when many are created at once', async () => {
    const { token } = await one.createUser('greedy');
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        call<{ code?: string; message?: string }>('POST', TOKENS, {
          token,
          body: { name: `token ${n}` },
        }),
      ),
    );
    const refused = answers.filter(({ status }) => status === 400);
    expect([answers.filter(({ status }) => status === 201).length, refused.length]).toEqual([5, 7]);
    expect(refused[0]?.body).toMatchObject({
      code: 'too_many_tokens',
      message: 'A user may have at most 6 tokens; revoke one.',
    });
    const [youngest] = (await list(token)).hits;
    await call('DELETE', `${TOKENS}/${youngest?.id}`, { token });
    expect((await call('POST', TOKENS, { token, body: { name: 'again' } })).status).toBe(201);
  });

  test('hold until they expire', async () => {
    const { token } = await one.createUser('temporary');
    const never = await make(token, { name: 'never', expires_at: null });
    const soon = await make(token, { name: 'soon', expires_at: '2100-01-01T00:00:00+01:00' });
    expect([never.expires_at, soon.expires_at]).toEqual([null, '2099-12-31T23:00:00.000Z']);
  });
});

describe('what a token is good for', () => {
  test('has the rights of its scopes, in the services too', async () => {
    const { token } = await one.createUser('careful');
    const reader = await make(token, { name: 'reader', scopes: [] });
    const received: (readonly string[])[] = [];
    one.script.records = {
      CreateDraft: async (_request, { principal }) => {
        received.push(principal.scopes);
        return { document: aDocument() };
      },
    };
    for (const by of [token, reader.token]) await call('POST', '/api/records', { token: by, body: {} });
    expect(received).toEqual([['write', 'publish', 'tokens'], []]);
  });

  test('has at most the scopes of the token that created it', async () => {
    const { token } = await one.createUser('delegate');
    const minter = await make(token, { name: 'minter', scopes: ['tokens'] });
    expect((await make(minter.token, { name: 'child' })).scopes).toEqual([]);
    const refused = await call('POST', TOKENS, {
      token: minter.token,
      body: { name: 'child', scopes: ['tokens', 'write', 'admin'] },
    });
    expect([refused.status, refused.body]).toEqual([
      400,
      {
        status: 400,
        message: 'A validation error occurred.',
        code: 'invalid',
        errors: [
          { field: 'scopes.1', messages: ['The token of this request lacks the scope.'] },
          { field: 'scopes.2', messages: ['The token of this request lacks the scope.'] },
        ],
      },
    ]);
  });

  test.each(['GET', 'POST', 'DELETE'])('a token without the scope manages none: %s', async (method) => {
    const { token } = await one.createUser('limited');
    const { token: limited, id } = await make(token, { name: 'limited', scopes: ['write'] });
    const path = method === 'DELETE' ? `${TOKENS}/${id}` : TOKENS;
    const { status, body, challenge } = await call(method, path, {
      token: limited,
      ...(method === 'POST' && { body: { name: 'x' } }),
    });
    expect([status, body, challenge]).toEqual([
      403,
      { status: 403, message: 'The access token lacks the scope tokens.', code: 'insufficient_scope' },
      'Bearer error="insufficient_scope"',
    ]);
    await database.query('update personal_access_token set revoked_at = now() where id = $1', [id]);
  });

  test('an operator’s token has operator rights only on request', async () => {
    const { token } = await one.createUser('operator', true);
    const plain = await make(token, { name: 'everyday' });
    const admins: boolean[] = [];
    one.script.records = {
      CreateDraft: async (_request, { principal }) => {
        admins.push(principal.isAdmin);
        return { document: aDocument() };
      },
    };
    for (const by of [token, plain.token]) await call('POST', '/api/records', { token: by, body: {} });
    expect(admins).toEqual([true, false]);
  });
});

describe('an invalid request', () => {
  const name = ['name', ['A name of 1 to 100 characters is required, none of them a control character.']];
  test.each<[body: unknown, errors: unknown[]]>([
    [{}, [name]],
    [{ name: '  ' }, [name]],
    [{ name: 'a\u0000b' }, [name]],
    [{ name: 'x'.repeat(101) }, [name]],
    [{ name: 7, scopes: 'write' }, [name, ['scopes', ['Not a valid list.']]]],
    [
      { name: 'a', scopes: ['write', 'WRITE', null] },
      [
        ['scopes.1', ['Must be one of: write, publish, tokens, admin.']],
        ['scopes.2', ['Must be one of: write, publish, tokens, admin.']],
      ],
    ],
    [{ name: 'a', expires_at: '2027-02-30T00:00:00Z' }, [['expires_at', ['Not a valid datetime.']]]],
    [{ name: 'a', expires_at: 3 }, [['expires_at', ['Not a valid datetime.']]]],
    [
      { name: 'a', expires_at: '2001-01-01T00:00:00Z' },
      [['expires_at', ['Expiration date must be set to the future']]],
    ],
    [{ name: 'a', token: 'kpat_mine' }, [['token', ['Unknown field.']]]],
    [[], [['_schema', ['Invalid input type.']]]],
    ['a', [['_schema', ['Invalid input type.']]]],
  ])('%j', async (body, errors) => {
    const { token } = await one.createUser('sloppy');
    const answer = await call<{ errors: { field: string; messages: string[] }[] }>('POST', TOKENS, {
      token,
      body,
    });
    expect([answer.status, answer.body.errors.map(({ field, messages }) => [field, messages])]).toEqual([
      400,
      errors,
    ]);
  });

  test.each(['none', '00000000-0000-4000-8000-000000000000', "'; drop table x"])(
    'there is no token %j to revoke',
    async (id) => {
      const { token } = await one.createUser('sloppy');
      const answer = await call('DELETE', `${TOKENS}/${encodeURIComponent(id)}`, { token });
      expect(answer.status).toBe(404);
    },
  );
});

test('a repeated request is answered again only to a token that is good for as much', async () => {
  const { token } = await one.createUser('weak');
  const reader = await make(token, { name: 'reader', scopes: [] });
  const headers = { 'idempotency-key': 'same' };
  const body = { name: 'secret' };
  const first = await call<Token>('POST', TOKENS, { token, body, headers });
  const stolen = await call<Token>('POST', TOKENS, { token: reader.token, body, headers });
  expect([first.status, stolen.status, stolen.body.token]).toEqual([201, 403, undefined]);
  const again = await call<Token>('POST', TOKENS, { token, body, headers });
  expect(again.text).toBe(first.text);
});

test('nothing that the database keeps can be used, not even the answer of a repeated request', async () => {
  const { token } = await one.createUser('repeater');
  const headers = { 'idempotency-key': '1' };
  const body = { name: 'once' };
  const first = await call<Token>('POST', TOKENS, { token, body, headers });
  const again = await call<Token>('POST', TOKENS, { token, body, headers, gateway: other });
  expect([first.status, again.text]).toEqual([201, first.text]);
  const secret = first.body.token ?? '';
  expect((await call('GET', '/api/user', { token: secret })).status).toBe(200);
  const { rows } = await database.query<{ text: string }>(
    `select encode(body, 'escape') as text from idempotency_key where body is not null
     union all select row_to_json(t)::text from personal_access_token t`,
  );
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.filter(({ text }) => text.includes('kpat_') || text.includes(secret.slice(5)))).toEqual([]);
});
