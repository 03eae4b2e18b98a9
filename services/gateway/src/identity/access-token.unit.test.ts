import { describe, expect, test } from '@jest/globals';
import { isTokenShaped, mintToken, tokenHash } from './access-token.ts';

describe('personal access tokens', () => {
  test('carry their checksum', () => {
    const token = mintToken();
    expect([/^kpat_[0-9A-Za-z]{38}$/.test(token), isTokenShaped(token)]).toEqual([true, true]);
  });

  test('are never the same', () => {
    expect(new Set(Array.from({ length: 1_000 }, mintToken)).size).toBe(1_000);
  });

  test('with a typing error are rejected without a query', () => {
    const token = mintToken();
    const mistyped = token.slice(0, 10) + (token[10] === 'x' ? 'y' : 'x') + token.slice(11);
    expect(
      [mistyped, `${token}a`, ` ${token}`, token.replace('kpat_', 'kpit_'), ''].map(isTokenShaped),
    ).toEqual([false, false, false, false, false]);
  });

  test('are stored as SHA-256', () => {
    expect(Buffer.from(tokenHash('abc')).toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });
});
