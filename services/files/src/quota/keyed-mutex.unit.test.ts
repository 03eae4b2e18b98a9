import { expect, test } from '@jest/globals';
import { keyedMutex } from './keyed-mutex.ts';

test('work of one key is done in its order, also behind work that fails, and other work beside it', async () => {
  const locked = keyedMutex();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = locked('a', async () => {
    await gate.promise;
    seen.push('first');
    throw new Error('failed');
  });
  const second = locked('a', async () => {
    seen.push('second');
    return 2;
  });
  const other = await locked('b', async () => {
    seen.push('other');
    return 3;
  });
  gate.resolve();
  await expect(first).rejects.toThrow('failed');
  expect([await second, other, seen]).toEqual([2, 3, ['other', 'first', 'second']]);
  expect(await locked('a', async () => seen.length)).toBe(3);
});
