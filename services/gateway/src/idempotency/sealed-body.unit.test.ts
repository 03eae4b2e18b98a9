import { describe, expect, test } from '@jest/globals';
import { bodySeal } from './sealed-body.ts';

const seal = bodySeal('a secret of at least thirty-two characters');
const body = new TextEncoder().encode('{"token":"kpat_secret"}');

describe('a stored body', () => {
  test.each([new Uint8Array(0), body, new Uint8Array(100_000).fill(7)])('is decrypted unchanged', (bytes) => {
    expect(seal.open(seal.seal(bytes))).toEqual(new Uint8Array(bytes));
  });

  test('is never the same twice, and shows nothing', () => {
    const [once, again] = [seal.seal(body), seal.seal(body)];
    expect(Buffer.compare(once, again)).not.toBe(0);
    expect(Buffer.from(once).toString('latin1')).not.toContain('kpat_');
  });

  test('does not open with another secret, changed, cut, or as it was', () => {
    const sealed = seal.seal(body);
    const changed = sealed.map((byte, at) => (at === sealed.length - 1 ? byte ^ 1 : byte));
    expect(bodySeal('another secret of at least thirty-two letters').open(sealed)).toBeUndefined();
    for (const bytes of [changed, sealed.subarray(0, 20), sealed.subarray(0, 30), body, new Uint8Array(0)])
      expect(seal.open(bytes)).toBeUndefined();
  });
});
