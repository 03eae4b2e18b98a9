import { expect, jest, test } from '@jest/globals';
import { createThrottle } from './throttle.ts';

test('a clock that is set back delays work by one interval at most', async () => {
  jest.useFakeTimers();
  const start = Date.parse('2026-03-01T10:00:00Z');
  let now = start;
  const throttle = createThrottle(100, () => now);
  const { signal } = new AbortController();
  await throttle.acquire(signal);
  now = start - 3_600_000;
  let isAcquired = false;
  const acquired = throttle.acquire(signal).then(() => {
    isAcquired = true;
  });
  await jest.advanceTimersByTimeAsync(99);
  const before = isAcquired;
  await jest.advanceTimersByTimeAsync(1);
  expect([before, isAcquired]).toEqual([false, true]);
  await jest.runAllTimersAsync();
  await acquired;
  jest.useRealTimers();
});
