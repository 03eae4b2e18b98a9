import { expect, test } from '@jest/globals';
import { archiveNames } from './archive-names.ts';

test.each([
  [[], []],
  [
    ['a', 'b'],
    ['a', 'b'],
  ],
  [
    ['a.txt', 'A.txt', 'A.TXT'],
    ['a.txt', 'A (2).txt', 'A (3).TXT'],
  ],
  [
    ['\u00fc.csv', 'u\u0308.csv'],
    ['\u00fc.csv', 'u\u0308 (2).csv'],
  ],
  [
    ['a', 'A', 'a (2)'],
    ['a', 'A (3)', 'a (2)'],
  ],
  [
    ['.env', '.ENV'],
    ['.env', '.ENV (2)'],
  ],
  [
    ['x.tar.gz', 'X.tar.gz'],
    ['x.tar.gz', 'X.tar (2).gz'],
  ],
  [
    ['😀', '名前.txt', 'a\u202eb'],
    ['😀', '名前.txt', 'a\u202eb'],
  ],
])('files called %j are %j in an archive', (keys, names) => {
  expect(archiveNames(keys)).toEqual(names);
});
