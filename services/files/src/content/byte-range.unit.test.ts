import { describe, expect, test } from '@jest/globals';
import { byteRange } from './byte-range.ts';

describe('a byte range', () => {
  test.each([
    [undefined, 10, 'whole'],
    ['bytes=0-9', 10, { start: 0, end: 9 }],
    ['bytes=0-0', 10, { start: 0, end: 0 }],
    ['Bytes=2-4', 10, { start: 2, end: 4 }],
    ['bytes= 2 - 4 ', 10, { start: 2, end: 4 }],
    ['bytes=2-', 10, { start: 2, end: 9 }],
    ['bytes=2-99999999999999999999999', 10, { start: 2, end: 9 }],
    ['bytes=-3', 10, { start: 7, end: 9 }],
    ['bytes=-99', 10, { start: 0, end: 9 }],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=10-12', 10, 'unsatisfiable'],
    ['bytes=4-2', 10, 'unsatisfiable'],
    ['bytes=', 10, 'unsatisfiable'],
    ['bytes=-', 10, 'unsatisfiable'],
    ['bytes=a-b', 10, 'unsatisfiable'],
    ['bytes=1', 10, 'unsatisfiable'],
    ['bytes=0-1,3-4', 10, 'whole'],
    ['lines=0-1', 10, 'whole'],
    ['0-1', 10, 'whole'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=0-0', 0, 'unsatisfiable'],
    ['bytes=-5', 0, 'whole'],
  ])('%j of %d bytes is %j', (header, size, verdict) => {
    expect(byteRange(header, size)).toEqual(verdict);
  });
});
