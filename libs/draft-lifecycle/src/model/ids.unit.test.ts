import { describe, expect, test } from '@jest/globals';
import { entityIdOf, isEntityId } from './ids.ts';

describe('identifiers', () => {
  test.each([
    [[0, 0, 0, 0, 0], '00000-00098'],
    [[0, 0, 0, 0, 1], '00000-00195'],
    [[255, 255, 255, 255, 255], 'zzzzz-zzz90'],
  ])('of the bytes %j are %s', (bytes, id) => {
    expect(entityIdOf(Uint8Array.from(bytes))).toBe(id);
  });

  test.each([
    ['e7vvn-90a62', true],
    ['r6yym-7p680', true],
    ['hvda4-gnb55', true],
    ['99tyq-h2423', true],
    ['e7vvn-90a63', false],
    ['7evvn-90a62', false],
    ['E7VVN-90A62', false],
    ['e7vvn90a62', false],
    ['e7vvi-90a62', false],
    ['zzzzz-zzzzz', false],
    ['', false],
    ['e7vvn-90a62 ', false],
    ["' or 1=1 --", false],
  ])('%j is one: %j', (text, isOne) => {
    expect(isEntityId(text)).toBe(isOne);
  });

  test('find every wrong character and every swap of neighbours', () => {
    const id = entityIdOf(Uint8Array.from([1, 99, 200, 7, 42]));
    const wrong: string[] = [];
    for (let at = 0; at < id.length; at += 1) {
      for (const other of '0123456789abcdefghjkmnpqrstvwxyz') {
        const changed = id.slice(0, at) + other + id.slice(at + 1);
        if (changed !== id && isEntityId(changed)) wrong.push(changed);
      }
      const [a = '', b = ''] = [id[at], id[at + 1]];
      const swapped = id.slice(0, at) + b + a + id.slice(at + 2);
      if (swapped !== id && isEntityId(swapped)) wrong.push(swapped);
    }
    expect(wrong).toEqual([]);
  });
});
