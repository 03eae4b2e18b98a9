import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { SortPosition } from '../engine/search-engine.ts';
import { formatCursor, parseCursor } from './cursor.ts';

const PLACE: SortPosition = {
  id: 'e7vvn-90a62',
  form: 'published',
  createdAt: '2026-02-28T23:59:59.123456Z',
  updatedAt: '2026-03-01T00:00:00.000001Z',
  versionIndex: 3,
};
const cursorOf = (...values: unknown[]) => Buffer.from(JSON.stringify(values)).toString('base64url');
const { id, form, createdAt, updatedAt, versionIndex } = PLACE;

describe('a cursor', () => {
  test('names the place it was written for', () => {
    expect(parseCursor(formatCursor('oldest', PLACE), 'oldest')).toEqual(PLACE);
    expect(parseCursor('*', 'oldest')).toBeNull();
  });

  test('of another order is refused', () => {
    expect(() => parseCursor(formatCursor('oldest', PLACE), 'newest')).toThrow(
      expect.objectContaining({
        code: 'invalid_cursor',
        issues: [
          { field: 'cursor', messages: ["The cursor is of the order 'oldest', and the search of 'newest'."] },
        ],
      }),
    );
  });

  test.each<[what: string, text: string]>([
    ['no base64', '!!!'],
    ['no JSON', Buffer.from('[1,').toString('base64url')],
    ['no array', Buffer.from('{"0":"oldest"}').toString('base64url')],
    ['too little', cursorOf('oldest', createdAt)],
    ['an unknown sort', cursorOf('bestmatch', createdAt, updatedAt, versionIndex, id, form)],
    ['an unknown form', cursorOf('oldest', createdAt, updatedAt, versionIndex, id, 'both')],
    [
      'a day that is none',
      cursorOf('oldest', '2026-02-30T00:00:00.000000Z', updatedAt, versionIndex, id, form),
    ],
    ['the year zero', cursorOf('oldest', '0000-01-01T00:00:00.000000Z', updatedAt, versionIndex, id, form)],
    [
      'an hour that is none',
      cursorOf('oldest', '2026-02-20T25:00:00.000000Z', updatedAt, versionIndex, id, form),
    ],
    ['no instant', cursorOf('oldest', createdAt, 'now()', versionIndex, id, form)],
    ['half a version', cursorOf('oldest', createdAt, updatedAt, 1.5, id, form)],
    ['too high a version', cursorOf('oldest', createdAt, updatedAt, 2 ** 31, id, form)],
    ['no id', cursorOf('oldest', createdAt, updatedAt, versionIndex, ['x'], form)],
    ['a long id', cursorOf('oldest', createdAt, updatedAt, versionIndex, 'x'.repeat(101), form)],
    ['an id with NUL', cursorOf('oldest', createdAt, updatedAt, versionIndex, 'a\0', form)],
  ])('of %s is refused', (_, text) => {
    expect(() => parseCursor(text, 'oldest')).toThrow(expect.objectContaining({ code: 'invalid_cursor' }));
  });

  test('of anything is read or refused', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((text) => Buffer.from(text).toString('base64url')),
        ),
        (text) => {
          try {
            parseCursor(text, 'oldest');
          } catch (error) {
            if ((error as { code?: string }).code !== 'invalid_cursor') throw error;
          }
        },
      ),
      { seed: 1, numRuns: 2_000 },
    );
  });
});
