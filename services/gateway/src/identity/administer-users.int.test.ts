import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { anonymous, servicePrincipal } from '@kr/caller';
import pg from 'pg';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { AUDIENCE, type IdentityProvider, startIdentityProvider } from './identity-provider-fixture.ts';

const NOW = new Date('2026-11-23T10:00:00Z');
const DAY_MS = 86_400_000;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const operator = servicePrincipal('kr-client', 'request-1');

let provider: IdentityProvider;
let one: GatewayUnderTest;
let other: GatewayUnderTest;
let database: pg.Client;
let identity: GatewayUnderTest['identity'];

beforeAll(async () => {
  provider = await startIdentityProvider({ grace: { userName: 'grace' } });
  const oidc = { OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE };
  one = await startGateway(oidc, { now: () => NOW });
  other = await startGateway({ ...oidc, DATABASE_URL: one.databaseUrl }, { now: () => NOW });
  database = new pg.Client(one.databaseUrl);
  await database.connect();
  identity = one.identity;
});
afterAll(async () => {
  await database?.end();
  await other?.stop();
  await one?.stop();
  await provider?.stop();
});

const create = (name: string, more: object = {}) => identity.createUser({ name, ...more }, operator);
const disable = (name: string, isDisabled = true) => identity.setUserDisabled({ name, isDisabled }, operator);

/** The answer of each gateway to this token. */
async function answers(token: string): Promise<unknown[]> {
  const all = await Promise.all([one, other].map((gateway) => gateway.fetch('/api/user', { token })));
  return Promise.all(
    all.map(async (response) => {
      const { code } = (await response.json()) as { code?: string };
      return code === undefined
        ? response.status
        : [response.status, code, response.headers.get('www-authenticate')];
    }),
  );
}

async function actions(name: string): Promise<string[]> {
  const { entries } = await identity.readUserAuditLog({ name, limit: 1_000 }, operator);
  return entries.map(({ action }) => action).reverse();
}

const DISABLED = [401, 'user_disabled', 'Bearer error="invalid_token"'];
const INVALID = [401, 'invalid_token', 'Bearer error="invalid_token"'];

describe('CreateUser', () => {
  test('refuses an existing name, unless a further token is requested', async () => {
    const { token } = await create('taken');
    await expect(create('taken')).rejects.toMatchObject({
      kind: 'conflict',
      message: 'The name taken is taken. To add a token, use --token.',
    });
    const { token: further } = await create('taken', { addsToken: true });
    expect([await answers(token), await answers(further)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    expect(await actions('taken')).toEqual(['user.create', 'token.create', 'token.create']);
  });

  test('creates one user when called several times at once', async () => {
    const all = await Promise.allSettled(Array.from({ length: 5 }, () => create('racer')));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await actions('racer')).toEqual(['user.create', 'token.create']);
  });

  test('grants administration once', async () => {
    await create('promoted');
    for (const isAdmin of [true, true, false])
      expect(await create('promoted', { isAdmin, addsToken: true })).toMatchObject({ isAdmin: true });
    expect((await actions('promoted')).filter((action) => action === 'user.grant_admin')).toHaveLength(1);
  });

  test.each<[tokenLifetimeMs: number | undefined, expires: string]>([
    [undefined, '2027-11-23T10:00:00.000Z'],
    [DAY_MS, '2026-11-24T10:00:00.000Z'],
    [0, ''],
  ])('a token that lasts %j ms expires at %j', async (tokenLifetimeMs, expires) => {
    const name = `lasting-${tokenLifetimeMs}`;
    const made = await create(name, tokenLifetimeMs === undefined ? {} : { tokenLifetimeMs });
    const { tokens } = await identity.listTokens({ name }, operator);
    expect([made.tokenExpiresAt, tokens]).toMatchObject([
      expires,
      [{ id: made.tokenId, expiresAt: expires }],
    ]);
  });

  test('an expired token is refused', async () => {
    const { token } = await create('brief', { tokenLifetimeMs: 1 });
    await database.query(
      `update personal_access_token set expires_at = $1 where user_id = (select id from "user" where name = 'brief')`,
      [NOW],
    );
    expect(await answers(token)).toEqual([INVALID, INVALID]);
  });
});

describe('SetUserDisabled', () => {
  test('the next request on every gateway is refused, and works when the user is enabled', async () => {
    const { token } = await create('ada');
    expect(await answers(token)).toEqual([200, 200]);
    expect((await disable('ada')).user).toMatchObject({ name: 'ada', disabledAt: NOW.toISOString() });
    expect(await answers(token)).toEqual([DISABLED, DISABLED]);
    expect((await disable('ada', false)).user).toMatchObject({ disabledAt: '' });
    expect(await answers(token)).toEqual([200, 200]);
    expect(await actions('ada')).toEqual(['user.create', 'token.create', 'user.disable', 'user.enable']);
  });

  test('tokens of the identity provider are refused too', async () => {
    const token = await provider.issue('grace');
    // The provider's tokens are issued by the real clock.
    const real = await startGateway({
      OIDC_ISSUER: provider.issuer,
      OIDC_AUDIENCE: AUDIENCE,
      DATABASE_URL: one.databaseUrl,
    });
    const status = async () => (await real.fetch('/api/user', { token })).status;
    try {
      expect(await status()).toBe(200);
      await disable('grace');
      const refused = await real.fetch('/api/user', { token });
      expect([refused.status, await refused.json()]).toEqual([
        401,
        { status: 401, message: 'The user is disabled.', code: 'user_disabled' },
      ]);
      await disable('grace', false);
      expect(await status()).toBe(200);
    } finally {
      await real.stop();
    }
  });

  test('of several concurrent calls, the ones that change something are in the audit log', async () => {
    const { token } = await create('flip');
    await Promise.all(Array.from({ length: 20 }, (_, n) => disable('flip', n % 2 === 0)));
    const log = (await actions('flip')).slice(2);
    expect(log).toEqual(log.map((_, n) => (n % 2 === 0 ? 'user.disable' : 'user.enable')));
    const isDisabled = log.at(-1) === 'user.disable';
    expect((await answers(token))[0]).toEqual(isDisabled ? DISABLED : 200);
  });
});

describe('RevokeTokens', () => {
  test('revokes these tokens on every gateway, then all others', async () => {
    const [first, second, third] = [
      await create('bob'),
      await create('bob', { addsToken: true }),
      await create('bob', { addsToken: true }),
    ];
    const revoke = (tokenIds: string[]) => identity.revokeTokens({ name: 'bob', tokenIds }, operator);
    expect(await revoke([first.tokenId])).toEqual({ tokenIds: [first.tokenId] });
    expect([await answers(first.token), await answers(second.token)]).toEqual([
      [INVALID, INVALID],
      [200, 200],
    ]);
    // One unknown id among them: none is revoked.
    for (const wrong of [first.tokenId, UNKNOWN])
      await expect(revoke([second.tokenId, wrong])).rejects.toMatchObject({ kind: 'not_found' });
    expect(await answers(second.token)).toEqual([200, 200]);
    expect(new Set((await revoke([])).tokenIds)).toEqual(new Set([second.tokenId, third.tokenId]));
    expect(await answers(third.token)).toEqual([INVALID, INVALID]);
    expect((await identity.listTokens({ name: 'bob' }, operator)).tokens).toEqual([]);
    expect(await revoke([])).toEqual({ tokenIds: [] });
    expect((await actions('bob')).slice(4)).toEqual(['token.revoke', 'token.revoke']);
  });

  test('does not revoke tokens of others', async () => {
    await create('thief');
    const { tokenId, token } = await create('victim');
    await expect(
      identity.revokeTokens({ name: 'thief', tokenIds: [tokenId] }, operator),
    ).rejects.toMatchObject({ kind: 'not_found' });
    expect(await answers(token)).toEqual([200, 200]);
  });
});

test('ListUsers returns all users in pages', async () => {
  const { users: all } = await identity.listUsers({ limit: 1_000 }, operator);
  const listed: string[] = [];
  for (;;) {
    const { users } = await identity.listUsers({ afterId: listed.at(-1) ?? '', limit: 2 }, operator);
    listed.push(...users.map(({ id }) => id));
    if (users.length < 2) break;
  }
  expect(listed).toEqual(all.map(({ id }) => id));
  expect(all.find(({ name }) => name === 'grace')).toMatchObject({ issuer: provider.issuer });
});

describe('the audit log', () => {
  test('names the operator’s service and request, and the token, never its secret', async () => {
    const { token, tokenId } = await create('logged');
    const { entries } = await identity.readUserAuditLog({ name: 'logged', limit: 1 }, operator);
    expect(entries).toEqual([
      {
        createdAt: expect.any(String),
        action: 'token.create',
        service: 'kr-client',
        requestId: 'request-1',
        metadata: expect.any(String),
      },
    ]);
    expect(JSON.parse(entries[0]?.metadata ?? '')).toEqual({
      token: tokenId,
      expires_at: '2027-11-23T10:00:00.000Z',
    });
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  test.each([
    `update user_audit_entry set action = 'user.enable'`,
    'delete from user_audit_entry',
    'truncate user_audit_entry',
  ])('is append-only: %s', async (statement) => {
    await expect(database.query(statement)).rejects.toThrow('append-only');
  });
});

describe('bad input', () => {
  test.each<[name: string, ask: () => Promise<unknown>, fields: string[]]>([
    ['a name', () => create('a b'), ['name']],
    ['a negative lifetime', () => create('x', { tokenLifetimeMs: -1 }), ['token_lifetime_ms']],
    [
      'a lifetime beyond 100 years',
      () => create('', { tokenLifetimeMs: 36_501 * DAY_MS }),
      ['name', 'token_lifetime_ms'],
    ],
    ['a page of 0', () => identity.listUsers({ limit: 0 }, operator), ['limit']],
    [
      'an id of no user',
      () => identity.listUsers({ afterId: '2147483648', limit: 1_001 }, operator),
      ['after_id', 'limit'],
    ],
    ['a name to disable', () => disable('ä'), ['name']],
    ['a name to list tokens of', () => identity.listTokens({ name: '' }, operator), ['name']],
    [
      'ids of no tokens',
      () => identity.revokeTokens({ name: 'ada', tokenIds: [UNKNOWN, "' or 1=1"] }, operator),
      ['token_ids.1'],
    ],
    [
      'too many ids',
      () => identity.revokeTokens({ name: 'ada', tokenIds: Array(1_001).fill(UNKNOWN) }, operator),
      ['token_ids'],
    ],
    ['a limit', () => identity.readUserAuditLog({ name: 'ada', limit: -1 }, operator), ['limit']],
  ])('%s is refused with its field', async (_name, ask, fields) => {
    const error = (await ask().catch((thrown: unknown) => thrown)) as {
      kind: string;
      issues: { field: string }[];
    };
    expect([error.kind, error.issues.map(({ field }) => field)]).toEqual(['invalid', fields]);
  });

  const named = { name: 'unknown' };
  test.each<[name: string, ask: (as: typeof operator) => Promise<unknown>]>([
    ['SetUserDisabled', (as) => identity.setUserDisabled({ ...named, isDisabled: true }, as)],
    ['ListTokens', (as) => identity.listTokens(named, as)],
    ['RevokeTokens', (as) => identity.revokeTokens(named, as)],
    ['ReadUserAuditLog', (as) => identity.readUserAuditLog({ ...named, limit: 1 }, as)],
  ])('%s: an unknown name is not found', async (_name, ask) => {
    await expect(ask(operator)).rejects.toMatchObject({
      kind: 'not_found',
      message: 'No user has the name unknown.',
    });
  });

  test('only a service may call', async () => {
    const person = { ...anonymous('request-2'), userId: '1', isAdmin: true };
    const calls = [
      identity.createUser({ name: 'sneaky' }, person),
      identity.listUsers({ limit: 1 }, person),
      identity.setUserDisabled({ name: 'ada', isDisabled: true }, person),
      identity.listTokens({ name: 'ada' }, person),
      identity.revokeTokens({ name: 'ada' }, person),
      identity.readUserAuditLog({ name: 'ada', limit: 1 }, person),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ kind: 'forbidden' });
  });
});
