import { describe, expect, test } from '@jest/globals';
import { bodyCipher } from './body-cipher.ts';

const cipher = bodyCipher('a secret of at least thirty-two characters');
const body = new TextEncoder().encode('{"token":"kpat_secret"}');

describe('a stored body', () => {
  test.each([new Uint8Array(0), body, new Uint8Array(100_000).fill(7)])('is decrypted unchanged', (bytes) => {
    expect(cipher.decrypt(cipher.encrypt(bytes))).toEqual(new Uint8Array(bytes));
  });

  test('is never the same twice, and shows nothing', () => {
    const [once, again] = [cipher.encrypt(body), cipher.encrypt(body)];
    expect(Buffer.compare(once, again)).not.toBe(0);
    expect(Buffer.from(once).toString('latin1')).not.toContain('kpat_');
  });

  test('does not open with another secret, changed, cut, or as it was', () => {
    const encrypted = cipher.encrypt(body);
    const changed = encrypted.map((byte, at) => (at === encrypted.length - 1 ? byte ^ 1 : byte));
    expect(bodyCipher('another secret of at least thirty-two letters').decrypt(encrypted)).toBeUndefined();
    for (const bytes of [
      changed,
      encrypted.subarray(0, 20),
      encrypted.subarray(0, 30),
      body,
      new Uint8Array(0),
    ])
      expect(cipher.decrypt(bytes)).toBeUndefined();
  });
});
