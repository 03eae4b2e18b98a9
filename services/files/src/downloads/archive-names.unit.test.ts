import { expect, test } from '@jest/globals';
import { archiveNames } from './archive.ts';

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
    ['😀', '名前.txt', 'a_b'],
  ],
  [
    ['CON', 'nul.txt', 'com1', 'COM10', 'console', 'aux.tar.gz', 'lpt\u00b2'],
    ['_CON', '_nul.txt', '_com1', 'COM10', 'console', '_aux.tar.gz', '_lpt\u00b2'],
  ],
  [
    ['a:b', 'a_b', 'a?b', 'x.html ', 'x.html.', '...', 'a<b>|"*'],
    ['a_b', 'a_b (2)', 'a_b (3)', 'x.html_', 'x (2).html_', '___', 'a_b____'],
  ],
])('files called %j are %j in an archive', (keys, names) => {
  expect(archiveNames(keys)).toEqual(names);
});
