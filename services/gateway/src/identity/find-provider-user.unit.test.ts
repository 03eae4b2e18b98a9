import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { type JWTPayload, SignJWT } from 'jose';
import { findProviderUser, isJwtShaped } from './find-provider-user.ts';
import type { ProviderUser } from './user-store.ts';

const NOW = new Date('2026-03-01T10:00:00Z');
const NOW_S = NOW.getTime() / 1_000;
const { privateKey, publicKey } = generateKeyPairSync('ed25519');

const GOOD: JWTPayload = {
  iss: 'https://login.example',
  aud: ['https://elsewhere.example', 'https://repository.example/api'],
  sub: 'ada',
  iat: NOW_S - 10,
  exp: NOW_S + 600,
};

function finder(config: { algorithms?: string[] } = {}) {
  let now = NOW;
  let disabledAt: Date | null = null;
  const added: ProviderUser[] = [];
  const find = findProviderUser({
    config: {
      issuer: 'https://login.example',
      audience: 'https://repository.example/api',
      algorithms: ['EdDSA'],
      nameClaim: 'preferred_username',
      rolesClaim: 'roles',
      adminRole: undefined,
      ...config,
    },
    keys: { find: async () => publicKey },
    users: {
      findOrAdd: async (user) => {
        added.push(user);
        return { id: 7, name: user.name, isAdmin: false, disabledAt };
      },
    },
    now: () => now,
  });
  return {
    find,
    added,
    disable: () => {
      disabledAt = now;
    },
    later: (ms: number) => {
      now = new Date(now.getTime() + ms);
    },
  };
}

function signed(claims: JWTPayload, typ?: string): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'EdDSA', ...(typ !== undefined && { typ }) })
    .sign(privateKey);
}

function without(claim: keyof JWTPayload): JWTPayload {
  const { [claim]: _, ...rest } = GOOD;
  return rest;
}

describe('a token of an identity provider', () => {
  test.each([undefined, 'JWT', 'at+jwt', 'application/at+jwt'])('of type %s is believed', async (typ) => {
    const { find, added } = finder();
    expect(await find(await signed(GOOD, typ))).toEqual({
      userId: '7',
      isAdmin: false,
      scopes: ['write', 'publish', 'tokens'],
    });
    expect(added).toEqual([{ issuer: GOOD.iss, subject: 'ada', name: 'ada', at: NOW }]);
  });

  test.each<[name: string, claims: JWTPayload, message: string]>([
    ['expired', { ...GOOD, exp: NOW_S - 31 }, 'The access token has expired.'],
    ['not yet valid', { ...GOOD, nbf: NOW_S + 31 }, 'The access token is not valid here: nbf.'],
    ['issued tomorrow', { ...GOOD, iat: NOW_S + 31 }, 'The access token is from the future.'],
    ['without an end', without('exp'), 'The access token is not valid here: exp.'],
    ['without a subject', without('sub'), 'The access token is not valid here: sub.'],
    ['without an audience', without('aud'), 'The access token is not valid here: aud.'],
    [
      'of another issuer',
      { ...GOOD, iss: 'https://login.example/' },
      'The access token is not valid here: iss.',
    ],
  ])('%s is not', async (_name, claims, message) => {
    await expect(finder().find(await signed(claims))).rejects.toMatchObject({
      kind: 'unauthenticated',
      code: 'invalid_token',
      message,
    });
  });

  test.each(['logout+jwt', 'dpop+jwt', 'secevent+jwt'])('of type %s is not', async (typ) => {
    await expect(finder().find(await signed(GOOD, typ))).rejects.toMatchObject({
      message: 'The access token is of another type.',
    });
  });

  test('by an algorithm that is not listed is not', async () => {
    await expect(finder({ algorithms: ['RS256'] }).find(await signed(GOOD))).rejects.toMatchObject({
      code: 'invalid_token',
    });
  });

  test('is verified at each request', async () => {
    const { find, later } = finder();
    const token = await signed({ ...GOOD, exp: NOW_S + 70 });
    await find(token);
    later(101_000);
    await expect(find(token)).rejects.toMatchObject({ message: 'The access token has expired.' });
  });

  test('is refused from the moment on at which its user is disabled', async () => {
    const { find, disable } = finder();
    const token = await signed(GOOD);
    await find(token);
    disable();
    await expect(find(token)).rejects.toMatchObject({ kind: 'unauthenticated', code: 'user_disabled' });
  });
});

test.each([
  ['a.b.c', true],
  ['eyJhbGciOiJub25lIn0.e30.', true],
  ['kpat_0123', false],
  ['a.b', false],
  ['a.b.c.d', false],
  ['', false],
])('%j has the shape of a JWT: %s', (token, is) => {
  expect(isJwtShaped(token)).toBe(is);
});
