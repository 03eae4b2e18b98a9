import { expect, test } from '@jest/globals';
import { keyedMutex } from './keyed-mutex.ts';

test('work of one key is done in its order, also behind work that fails, and other work beside it', async () => {
  const locked = keyedMutex();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = locked('a', async () => {
    await gate.promise;
    order.push('first');
    throw new Error('failed');
  });
  const second = locked('a', async () => {
    order.push('second');
    return 2;
  });
  const other = await locked('b', async () => {
    order.push('other');
    return 3;
  });
  gate.resolve();
  await expect(first).rejects.toThrow('failed');
  expect([await second, other, order]).toEqual([2, 3, ['other', 'first', 'second']]);
  expect(await locked('a', async () => order.length)).toBe(3);
});
