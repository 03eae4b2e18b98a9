import { describe, expect, test } from '@jest/globals';
import { byteRange } from './representation.ts';

describe('a byte range', () => {
  test.each([
    [undefined, 10, 'whole'],
    ['bytes=0-9', 10, '0-9'],
    ['bytes=0-0', 10, '0-0'],
    ['Bytes=2-4', 10, '2-4'],
    ['bytes=2-', 10, '2-9'],
    ['bytes=2-99999999999999999999999', 10, '2-9'],
    ['bytes=-3', 10, '7-9'],
    ['bytes=-99', 10, '0-9'],
    ['bytes=007-008', 10, '7-8'],
    ['bytes= 2-4 ', 10, '2-4'],
    // Well formed, and outside.
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=10-12', 10, 'unsatisfiable'],
    [`bytes=${'9'.repeat(400)}-`, 10, 'unsatisfiable'],
    // Not well formed: as if the header were not there.
    ['bytes=4-2', 10, 'whole'],
    ['bytes=', 10, 'whole'],
    ['bytes=,', 10, 'whole'],
    ['bytes=-', 10, 'whole'],
    ['bytes=a-b', 10, 'whole'],
    ['bytes=1', 10, 'whole'],
    ['bytes=1-2-3', 10, 'whole'],
    ['bytes=--1', 10, 'whole'],
    ['bytes=+1-2', 10, 'whole'],
    ['bytes=1.0-2', 10, 'whole'],
    ['bytes=0x1-2', 10, 'whole'],
    ['bytes=2 - 4', 10, 'whole'],
    ['bytes 2-4', 10, 'whole'],
    // A list of ranges.
    ['bytes=0-1,4-5', 10, 'whole'],
    ['bytes=0-1, bytes=3-4', 10, 'whole'],
    ['bytes=,2-4,,', 10, 'whole'],
    ['bytes=10-,11-', 10, 'whole'],
    [`bytes=${Array.from({ length: 100 }, () => '0-').join(',')}`, 10, 'whole'],
    ['bytes=\u0660-1', 10, 'whole'],
    ['lines=0-1', 10, 'whole'],
    ['0-1', 10, 'whole'],
    ['', 10, 'whole'],
    // Without bytes.
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=0-0', 0, 'unsatisfiable'],
    ['bytes=-0', 0, 'unsatisfiable'],
    ['bytes=-5', 0, 'whole'],
  ])('%j of %d bytes is %s', (header, size, verdict) => {
    expect(written(byteRange(header, size))).toBe(verdict);
  });
});

function written(verdict: ReturnType<typeof byteRange>): string {
  return typeof verdict === 'string' ? verdict : `${verdict.start}-${verdict.end}`;
}
