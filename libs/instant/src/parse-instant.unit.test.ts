import { describe, expect, test } from '@jest/globals';
import { parseInstant } from './parse-instant.ts';

describe('an instant', () => {
  test.each([
    ['2026-03-01T10:00:00Z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01 10:00', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T10:00:00.1234567+02:00', '2026-03-01T08:00:00.123Z'],
    ['2026-03-01T10:00:00,5-0130', '2026-03-01T11:30:00.500Z'],
    ['2028-02-29T23:59:59z', '2028-02-29T23:59:59.000Z'],
    ['0050-01-01T00:00:00Z', '0050-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseInstant(text)?.toISOString()).toBe(expected);
  });

  test.each([
    '2026-03-01',
    '2026-02-29T10:00:00Z',
    '2026-13-01T10:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T10:60:00Z',
    '2026-03-01T10:00:00+24:00',
    '2026-03-01T10:00:00 Z',
    'tomorrow',
    '',
  ])('%j is none', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });
});
