import { expect, test } from '@jest/globals';
import { paceBodies } from './pace-bodies.ts';

const MIB = 1_048_576;
const { signal } = new AbortController();

test('a caller that sends large bodies without pause is slowed down, then refused; others are not', async () => {
  let now = 0;
  const waits: number[] = [];
  const pace = paceBodies({
    elapsed: () => now,
    pause: async (milliseconds) => void waits.push(Math.round(milliseconds)),
  });
  for (let bodies = 0; bodies < 13; bodies += 1) await pace('a', MIB, signal);
  expect(waits).toEqual([500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000]);
  await expect(pace('a', 10, signal)).rejects.toMatchObject({
    kind: 'rate_limited',
    code: 'too_many_bodies',
  });
  waits.length = 0;
  await pace('b', MIB, signal);
  now = 7_000;
  await pace('a', MIB, signal);
  expect(waits).toEqual([]);
});
