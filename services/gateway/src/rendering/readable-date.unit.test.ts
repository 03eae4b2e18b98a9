import { expect, test } from '@jest/globals';
import { readableDate, readableDay } from './ui-json.ts';

const plain = (text: string | undefined) => text?.replaceAll('\u2009', ' ');

test.each<[edtf: unknown, medium: string | undefined, long: string | undefined]>([
  ['2019', '2019', '2019'],
  ['2020-06', 'Jun 2020', 'June 2020'],
  ['2020-06-01', 'Jun 1, 2020', 'June 1, 2020'],
  ['2020-06-01/2020-06-05', 'Jun 1 – 5, 2020', 'June 1 – 5, 2020'],
  ['2019/2020-06', '2019 – 2020', '2019 – 2020'],
  ['2020-06/2020-08-04', 'Jun – Aug 2020', 'June – August 2020'],
  ['2020-13-01', undefined, undefined],
  ['2020/', undefined, undefined],
  ['soon', undefined, undefined],
  [2020, undefined, undefined],
  [undefined, undefined, undefined],
])('%s reads %s and %s', (edtf, medium, long) => {
  expect([plain(readableDate(edtf, 'medium')), plain(readableDate(edtf, 'long'))]).toEqual([medium, long]);
});

test.each([
  ['2026-11-21 06:54:56.202528', 'November 21, 2026'],
  ['2026-11-21T23:59:56.202528+00:00', 'November 21, 2026'],
])('the instant %s is on %s', (instant, day) => {
  expect(readableDay(instant)).toBe(day);
});
