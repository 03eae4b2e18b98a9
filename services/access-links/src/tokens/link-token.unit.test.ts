import { describe, expect, test } from '@jest/globals';
import { claimedLinkId, createTokenMint } from './link-token.ts';

const oldKey = 'o'.repeat(32);
const key = 'k'.repeat(32);
const linkId = '0192f0c1-7f4e-4c3a-9a55-ffffffffffff';
const mint = createTokenMint(key, [oldKey]);
const source = { linkId, nonce: 'n', keyId: mint.keyId };
const token = mint.tokenOf(source) ?? '';

describe('link token', () => {
  test('has the documented form and names its link', () => {
    expect(token).toMatch(/^kl1_[A-Za-z0-9_-]{22}_[0-9a-f]{8}_[A-Za-z0-9_-]{43}$/);
    expect(claimedLinkId(token)).toBe(linkId);
  });

  test('is the same each time and another for each link, nonce and key', () => {
    const others = [
      mint.tokenOf({ ...source, linkId: '0192f0c1-7f4e-4c3a-9a55-fffffffffffe' }),
      mint.tokenOf({ ...source, nonce: 'm' }),
      createTokenMint(oldKey).tokenOf({ ...source, keyId: createTokenMint(oldKey).keyId }),
    ];
    expect(mint.tokenOf({ ...source })).toBe(token);
    expect(new Set([token, ...others]).size).toBe(4);
  });

  test('is known after its key was replaced, and not after the key is gone', () => {
    const before = createTokenMint(oldKey);
    const old = { linkId, nonce: 'n', keyId: before.keyId };
    const oldToken = before.tokenOf(old) ?? '';
    expect(mint.isTokenOf(oldToken, old)).toBe(true);
    const without = createTokenMint(key);
    expect([without.isTokenOf(oldToken, old), without.tokenOf(old)]).toEqual([false, undefined]);
  });

  test('does not survive the change of a single character', () => {
    for (let at = 0; at < token.length; at += 1) {
      for (const character of ['A', '0', '_', '-', ' ', '.']) {
        const forged = token.slice(0, at) + character + token.slice(at + 1);
        if (forged !== token) expect(mint.isTokenOf(forged, source)).toBe(false);
      }
    }
  });

  test('has one spelling, although its encoding has spare bits', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const spellings = [...alphabet].map((last) => token.slice(0, -1) + last);
    expect(spellings.filter((spelling) => mint.isTokenOf(spelling, source))).toEqual([token]);
  });

  test.each([
    '',
    'kl1_',
    token.slice(0, -1),
    `${token}A`,
    ` ${token}`,
    `${token}\n`,
    token.replace('kl1', 'kl2'),
    'é'.repeat(80),
  ])('%j is no token', (text) => {
    expect([claimedLinkId(text), mint.isTokenOf(text, source)]).toEqual([undefined, false]);
  });
});
