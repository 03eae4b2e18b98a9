import { expect, test } from '@jest/globals';
import { anonymous } from '@kr/caller';
import { engineTime, fairTurns } from './engine-time.ts';
import { suggest } from './suggest.ts';

test.each<[size: number, maxSuggestions: number, limit: number]>([
  [0, 50, 10],
  [0, 5, 5],
  [5, 5, 5],
  [20, 50, 20],
])('size %j of at most %i requests %i', async (size, maxSuggestions, limit) => {
  const limits: number[] = [];
  const index = {
    suggest: async (asked: { limit: number }) => {
      limits.push(asked.limit);
      return [];
    },
  };
  const openTime = engineTime({ turns: fairTurns(1), limitMs: 1_000, elapsed: () => 0 });
  const deps = { index, openTime, limits: { maxSuggestions, maxLength: 10 }, now: () => new Date(0) };
  await suggest(deps, { q: 'flo', type: 'title', size, caller: '' }, anonymous('request'));
  expect(limits).toEqual([limit]);
});
