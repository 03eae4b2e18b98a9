import { expect, jest, test } from '@jest/globals';
import { createPacer } from './pacer.ts';

test('a clock that is set back holds nothing back for longer than one turn takes', async () => {
  jest.useFakeTimers();
  const start = Date.parse('2026-03-01T10:00:00Z');
  let now = start;
  const pacer = createPacer(100, () => now);
  const { signal } = new AbortController();
  await pacer.turn(signal);
  now = start - 3_600_000;
  let isMine = false;
  const turn = pacer.turn(signal).then(() => {
    isMine = true;
  });
  await jest.advanceTimersByTimeAsync(99);
  const before = isMine;
  await jest.advanceTimersByTimeAsync(1);
  expect([before, isMine]).toEqual([false, true]);
  await jest.runAllTimersAsync();
  await turn;
  jest.useRealTimers();
});
