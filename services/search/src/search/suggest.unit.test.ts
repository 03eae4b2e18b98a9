import { expect, test } from '@jest/globals';
import { anonymous } from '@kr/caller';
import { engineTime } from './engine-time.ts';
import { searchSlots } from './search-slots.ts';
import { suggest } from './suggest.ts';

test.each([
  [0, 10],
  [5, 5],
  [20, 20],
  [50, 50],
])('size %j requests %i', async (size, limit) => {
  const limits: number[] = [];
  const index = {
    suggest: async (asked: { limit: number }) => {
      limits.push(asked.limit);
      return [];
    },
  };
  const openTime = engineTime({ slots: searchSlots(1), limitMs: 1_000, elapsed: () => 0 });
  const deps = { index, openTime, now: () => new Date(0) };
  await suggest(deps)({ q: 'flo', type: 'title', size, caller: '' }, { principal: anonymous('request') });
  expect(limits).toEqual([limit]);
});

test('a size above 50 is invalid', async () => {
  const index = { suggest: () => Promise.reject(new Error('not called')) };
  const openTime = engineTime({ slots: searchSlots(1), limitMs: 1_000, elapsed: () => 0 });
  const request = { q: 'flo', type: 'title', size: 51, caller: '' };
  const suggesting = suggest({ index, openTime, now: () => new Date(0) });
  await expect(suggesting(request, { principal: anonymous('request') })).rejects.toMatchObject({
    kind: 'invalid',
  });
});
