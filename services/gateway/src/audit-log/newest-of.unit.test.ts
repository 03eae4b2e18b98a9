import { describe, expect, test } from '@jest/globals';
import type { AuditEntry__Output } from '@kr/contracts';
import { newestOf } from './read-audit-log.ts';

/** Entries by name and milliseconds, as one service returns them. */
const trail = (...entries: [id: string, ms: number][]) => ({
  entries: entries.map(
    ([id, ms]): AuditEntry__Output => ({
      id,
      createdAt: { seconds: String(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 },
      action: 'draft.update',
      entityId: 'one',
      actor: null,
      metadataJson: Buffer.from('{}'),
    }),
  ),
});

const idsOf = (entries: readonly AuditEntry__Output[]) => entries.map(({ id }) => id).join('');

describe('the newest of several trails', () => {
  test('are by time, across seconds and services', () => {
    const trails = [trail(['a', 3_001], ['c', 2_999]), trail(['b', 3_000], ['d', 10]), trail()];
    expect(idsOf(newestOf(trails, 10))).toBe('abcd');
    expect(idsOf(newestOf(trails, 2))).toBe('ab');
    expect(newestOf([], 3)).toEqual([]);
  });

  test('keep the order of each where the time is the same', () => {
    expect(idsOf(newestOf([trail(['a', 5], ['b', 5]), trail(['c', 5])], 10))).toBe('abc');
  });

  test('all pages together contain all entries, of all services', () => {
    const all = [trail(['a', 9], ['d', 6], ['e', 5]), trail(['b', 8], ['c', 7], ['f', 4])];
    const page = (number: number) => {
      const limit = number * 2;
      const truncated = all.map(({ entries }) => ({ entries: entries.slice(0, limit) }));
      return idsOf(newestOf(truncated, limit).slice(limit - 2));
    };
    expect([1, 2, 3, 4].map(page)).toEqual(['ab', 'cd', 'ef', '']);
  });
});
