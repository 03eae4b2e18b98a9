import { expect, test } from '@jest/globals';
import { httpDate } from './conditions.ts';

const INSTANT = Date.UTC(1994, 10, 6, 8, 49, 37);

test.each([
  ['Sun, 06 Nov 1994 08:49:37 GMT', INSTANT],
  ['Sunday, 06-Nov-94 08:49:37 GMT', INSTANT],
  ['Sun Nov  6 08:49:37 1994', INSTANT],
  ['Sun, 06 Nov 1994 25:49:37 GMT', undefined],
  ['Sun, 06 Nov 1994 08:49:37', undefined],
  ['Sun, 06 Nov 1994 08:49:37 +0100', undefined],
  ['sun, 06 nov 1994 08:49:37 gmt', undefined],
  ['1994-11-06T08:49:37Z', undefined],
  ['784111777', undefined],
  ['2030', undefined],
  ['yesterday', undefined],
  ['', undefined],
  [undefined, undefined],
])('the date %j is %j', (header, instant) => {
  expect(httpDate(header)).toBe(instant);
});
