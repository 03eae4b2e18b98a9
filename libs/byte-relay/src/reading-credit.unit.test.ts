import { expect, test } from '@jest/globals';
import { readingCredit } from './reading-credit.ts';

const KIB = 1_024;
const MIB = 1_048_576;
const LIMITS = { minBytesPerSecond: KIB, maxCreditBytes: 4 * MIB };

/**
 * The second in which a reader is cut off if it reads `takenIn(second)` bytes in each; undefined: not within
 * a day.
 */
function givenUp(takenIn: (second: number) => number, isWaiting = true): number | undefined {
  const isFastEnough = readingCredit(LIMITS);
  for (let second = 1; second <= 86_400; second += 1)
    if (!isFastEnough({ readBytes: takenIn(second), isWaiting })) return second;
  return undefined;
}

test.each<[string, (second: number) => number]>([
  ['takes the least', () => KIB],
  ['takes a minute’s worth once a minute', (second) => (second % 60 === 0 ? 60 * KIB : 0)],
  ['fills large buffers, then takes the least in leaps', (second) => (second % 1_024 === 1 ? MIB : 0)],
])('a reader that %s is never cut off', (_who, takenIn) => {
  expect(givenUp(takenIn)).toBe(undefined);
});

test.each<[string, (second: number) => number, number]>([
  ['takes nothing', () => 0, 65],
  ['takes a byte at a time', () => 1, 65],
  ['takes half of the least', () => KIB / 2, 129],
  ['has taken little and stops', (second) => (second === 1 ? 100 * KIB : 0), 165],
  ['has taken a terabyte and stops', (second) => (second === 1 ? 1e12 : 0), 1 + 4_096 + 1],
])('a reader that %s is cut off in time', (_who, takenIn, second) => {
  expect(givenUp(takenIn)).toBe(second);
});

test('seconds without waiting bytes cost no credit', () => {
  expect(givenUp(() => 0, false)).toBe(undefined);
});

test('bytes read beyond the maximum credit count in their own second', () => {
  const isFastEnough = readingCredit({ minBytesPerSecond: 10 * MIB, maxCreditBytes: MIB });
  expect(isFastEnough({ readBytes: 10 * MIB, isWaiting: true })).toBe(true);
  expect(isFastEnough({ readBytes: 8 * MIB, isWaiting: true })).toBe(false);
});
