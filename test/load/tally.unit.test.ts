import { expect, test } from '@jest/globals';
import { openTally } from './tally.ts';

test('a refusal is no failure, and only successes have a time', () => {
  const tally = openTally();
  for (const [status, took] of [
    [200, 10],
    [202, 30],
    [503, 1],
    [429, 1],
    [500, 1],
    [404, 1],
    [0, 1],
  ] as const)
    tally.note('read', { status, took, retryAfter: '1', text: `${status}` });
  expect(tally.figures()).toEqual([
    { kind: 'read', asked: 7, answered: 2, refused: 2, failed: 3, p50: 30, p99: 30 },
  ]);
  expect(tally.good).toBe(2);
  expect(tally.refusals.map(({ status }) => status)).toEqual([503, 429]);
  expect(tally.unforeseen).toEqual(['read: 500 500', 'read: 404 404', 'read: 0 0']);
});
