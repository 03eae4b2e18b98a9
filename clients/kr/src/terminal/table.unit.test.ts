import { describe, expect, test } from '@jest/globals';
import { table } from './table.ts';
import { formatTimeSpan, parseTimeSpan } from './time-span.ts';

test('a table is as wide as its widest cells, without space at the ends of lines', () => {
  const rows = [
    ['id', 'state', 'age'],
    ['abcdef', 'DONE', ''],
    ['x', 'COMMITTED', '12s'],
  ];
  expect(table(rows)).toEqual(['id      state      age', 'abcdef  DONE', 'x       COMMITTED  12s']);
  expect(table([])).toEqual([]);
});

describe('a span of time', () => {
  test.each([
    [0, '0ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [250_000, '4m 10s'],
    [3_600_000, '1h'],
    [7_380_000, '2h 3m'],
    [90_000_000, '1d 1h'],
    [864_000_000, '10d'],
  ])('%i ms reads %s', (ms, text) => {
    expect(formatTimeSpan(ms)).toBe(text);
  });

  test.each([
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['0s', 0],
    ['5', undefined],
    ['m', undefined],
    ['-1s', undefined],
    ['1.5h', undefined],
    ['5 m', undefined],
    ['1000000000s', undefined],
  ])('%s is %p ms', (text, ms) => {
    expect(parseTimeSpan(text)).toBe(ms);
  });
});
