import { afterEach, expect, jest, test } from '@jest/globals';
import { GENERATION_ID } from '../engine/search-engine.ts';
import { newGenerationId } from './index-state.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const NONE = { live: null, isFilled: false, building: null };
const inUse = (live: string, building: string | null = null) => ({
  ...NONE,
  live: { engine: 'any', layout: 1, id: live },
  building,
});
const newAt = (now: number, state: Parameters<typeof newGenerationId>[0]) => {
  jest.spyOn(Date, 'now').mockReturnValue(now);
  return newGenerationId(state);
};

test('ids of generations sort by age, although clocks of processes differ', () => {
  const first = newAt(Date.UTC(2030), NONE);
  const ids = [
    first,
    newAt(Date.UTC(2029), inUse(first)),
    newAt(0, inUse(first)),
    newAt(Date.UTC(2031), inUse(first)),
  ];
  for (const id of ids) expect(id).toMatch(GENERATION_ID);
  for (const id of ids.slice(1)) expect(id > first).toBe(true);
  const later = newAt(Date.UTC(2032), inUse(first));
  expect(newAt(Date.UTC(2031), inUse(first, later)) > later).toBe(true);
});

test('the id of a clock without a date has the same form', () => {
  expect(newAt(1, NONE)).toMatch(GENERATION_ID);
});
