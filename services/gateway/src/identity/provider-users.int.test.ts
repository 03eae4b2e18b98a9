import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import pg from 'pg';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { AUDIENCE, type IdentityProvider, startIdentityProvider } from './identity-provider-fixture.ts';

let provider: IdentityProvider;
let gateway: GatewayUnderTest;
let database: pg.Client;
beforeAll(async () => {
  provider = await startIdentityProvider({
    ada: { userName: 'ada' },
    'ada-again': { userName: 'ada' },
    operator: { userName: 'root', roles: ['repository-admin', 'other'] },
    mallory: { userName: 'ops' },
    'no name': {},
    odd: { userName: '  Zoë / O’Brien \u0000 ' },
  });
  gateway = await newGateway();
  database = new pg.Client(gateway.databaseUrl);
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await gateway?.stop();
  await provider?.stop();
});

function newGateway(env: Record<string, string> = {}): Promise<GatewayUnderTest> {
  return startGateway({
    OIDC_ISSUER: provider.issuer,
    OIDC_AUDIENCE: AUDIENCE,
    OIDC_ADMIN_ROLE: 'repository-admin',
    ...env,
  });
}

async function whoIs(token: string, at = gateway) {
  const response = await at.fetch('/api/user', { token });
  const body = (await response.json()) as {
    id?: number;
    name?: string;
    is_admin?: boolean;
    message?: string;
    code?: string;
  };
  return { status: response.status, challenge: response.headers.get('www-authenticate'), ...body };
}

describe('who an identity provider vouches for', () => {
  test('is a user from then on, the same one for each of its tokens, on every replica', async () => {
    const other = await newGateway({ DATABASE_URL: gateway.databaseUrl });
    const tokens = await Promise.all([1, 2, 3, 4].map(() => provider.issue('ada')));
    const results = await Promise.all(tokens.map((token, n) => whoIs(token, n % 2 === 0 ? gateway : other)));
    await other.stop();
    expect(results[0]).toMatchObject({ status: 200, name: 'ada', is_admin: false });
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
  });

  test('is not another user of the same name, in either order of creation', async () => {
    const local = await gateway.createUser('ada-local');
    expect((await whoIs(await provider.issue('ada'))).name).toBe('ada');
    const again = await whoIs(await provider.issue('ada-again'));
    expect([again.status, again.name]).toEqual([200, expect.stringMatching(/^ada-\d{5}$/)]);
    expect(again.id).not.toBe(Number(local.userId));
  });

  test('keeps a name from being given rights or tokens by an operator who means somebody else', async () => {
    const token = await provider.issue('mallory');
    expect(await whoIs(token)).toMatchObject({ name: 'ops', is_admin: false });
    for (const isAdmin of [true, false])
      await expect(gateway.createUser('ops', isAdmin)).rejects.toMatchObject({ kind: 'conflict' });
    const { rows } = await database.query(`select is_admin from "user" where name = 'ops'`);
    expect(rows).toEqual([{ is_admin: false }]);
  });

  test.each([
    ['no name', 'noname'],
    ['odd', 'ZoeOBrien'],
  ])('has a name of our kind: %s', async (client, name) => {
    expect(await whoIs(await provider.issue(client))).toMatchObject({ status: 200, name });
  });

  test('is an administrator if the provider grants the role', async () => {
    const results: unknown[] = [];
    gateway.script.records = {
      CreateDraft: async (_request, { principal }) => {
        results.push([principal.isAdmin, principal.scopes]);
        return { document: aDocument() };
      },
    };
    for (const client of ['operator', 'ada']) {
      const token = await provider.issue(client);
      await gateway.fetch('/api/records', { method: 'POST', token, body: '{}' });
    }
    expect(results).toEqual([
      [true, ['write', 'publish', 'tokens', 'admin']],
      [false, ['write', 'publish', 'tokens']],
    ]);
  });

  test('makes personal access tokens', async () => {
    const token = await provider.issue('ada');
    const made = await gateway.fetch('/api/user/tokens', {
      method: 'POST',
      token,
      body: '{"name":"script"}',
    });
    const { token: own } = (await made.json()) as { token: string };
    expect((await whoIs(own)).id).toBe((await whoIs(token)).id);
  });
});

describe('an invalid token', () => {
  let good: JWTPayload;
  let kid: string;
  let stolen: KeyObject;
  beforeAll(async () => {
    const token = await provider.issue('ada');
    good = decodeJwt(token);
    kid = decodeProtectedHeader(token).kid ?? '';
    stolen = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  });

  const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const NOT_OURS = 'The access token is not one of the identity provider.';

  test.each<[name: string, make: () => Promise<string> | string, message: string]>([
    ['unsigned', () => `${base64url({ alg: 'none' })}.${base64url(good)}.`, NOT_OURS],
    [
      'signed by somebody else under the provider’s key id',
      () => new SignJWT(good).setProtectedHeader({ alg: 'RS256', kid }).sign(stolen),
      NOT_OURS,
    ],
    [
      'signed by somebody else whose key it carries',
      () =>
        new SignJWT(good)
          .setProtectedHeader({ alg: 'RS256', kid, jwk: { kty: 'RSA', n: 'AAAA', e: 'AQAB' } })
          .sign(stolen),
      NOT_OURS,
    ],
    [
      'with a key id that is a path',
      () => new SignJWT(good).setProtectedHeader({ alg: 'RS256', kid: '../../dev/null' }).sign(stolen),
      NOT_OURS,
    ],
    [
      'signed with the public key as a shared secret',
      async () => {
        const keys = await (await fetch(`${provider.issuer}/jwks`)).text();
        const signed = `${base64url({ alg: 'HS256', kid })}.${base64url(good)}`;
        return `${signed}.${createHmac('sha256', keys).update(signed).digest('base64url')}`;
      },
      NOT_OURS,
    ],
    [
      'changed',
      async () => {
        const [head, , signature] = (await provider.issue('ada')).split('.');
        return [head, base64url({ ...good, sub: 'operator' }), signature].join('.');
      },
      NOT_OURS,
    ],
    [
      'for another service',
      () => provider.issue('ada', { audience: 'https://elsewhere.example' }),
      'The access token is not valid here: aud.',
    ],
    ['that is no JWT at all', () => 'a.b.c', NOT_OURS],
  ])('%s', async (_name, make, message) => {
    expect(await whoIs(await make())).toMatchObject({
      status: 401,
      code: 'invalid_token',
      message,
      challenge: 'Bearer error="invalid_token"',
    });
  });

  test('of a flood of unknown keys does not reach the provider each time', async () => {
    const before = provider.keyFetches;
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, n) =>
        whoIs(await new SignJWT(good).setProtectedHeader({ alg: 'RS256', kid: `k${n}` }).sign(stolen)),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    expect(provider.keyFetches - before).toBeLessThanOrEqual(1);
  });
});

describe('the keys of the provider', () => {
  test('are fetched once, and stay valid while it is unavailable', async () => {
    const cached = await provider.issue('ada');
    const strange = await newGateway();
    try {
      const [first, second] = [await provider.issue('ada'), await provider.issue('operator')];
      const before = provider.keyFetches;
      expect((await whoIs(first, strange)).status).toBe(200);
      await provider.stop();
      expect((await whoIs(second, strange)).status).toBe(200);
      expect(provider.keyFetches - before).toBe(1);
      const late = await newGateway();
      const refused = await late.fetch('/api/user', { token: cached });
      expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
        503,
        '30',
        { status: 503, message: 'The identity provider does not answer.', code: 'unavailable' },
      ]);
      await late.stop();
    } finally {
      await strange.stop();
      await provider.restart();
    }
  });

  test('may change: a token of the new one is believed', async () => {
    const fresh = await newGateway();
    expect((await whoIs(await provider.issue('ada'), fresh)).status).toBe(200);
    await provider.rotate();
    const moved = await newGateway();
    expect((await whoIs(await provider.issue('ada'), moved)).status).toBe(200);
    await moved.stop();
    await fresh.stop();
  });
});

describe('a gateway', () => {
  test('without a provider believes no JWT', async () => {
    const plain = await startGateway();
    expect(await whoIs(await provider.issue('ada'), plain)).toMatchObject({
      status: 401,
      message: 'The access token is malformed.',
    });
    await plain.stop();
  });

  test.each([
    [{ OIDC_AUDIENCE: '' }, 'OIDC_AUDIENCE'],
    [{ OIDC_ISSUER: 'the provider' }, 'OIDC_ISSUER'],
  ])('does not start with %j', async (env, named) => {
    await expect(newGateway(env)).rejects.toThrow(named);
  });
});
