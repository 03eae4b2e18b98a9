import { describe, expect, test } from '@jest/globals';
import { byteRanges } from './byte-ranges.ts';

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
    ['bytes=,2-4,,', 10, '2-4'],
    // Well formed, and outside.
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=10-12', 10, 'unsatisfiable'],
    ['bytes=10-,11-,-0', 10, 'unsatisfiable'],
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
    ['bytes=0-1, bytes=3-4', 10, 'whole'],
    ['bytes=0-1,4-2', 10, 'whole'],
    ['bytes=\u0660-1', 10, 'whole'],
    ['lines=0-1', 10, 'whole'],
    ['0-1', 10, 'whole'],
    ['', 10, 'whole'],
    // Without bytes.
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=0-0', 0, 'unsatisfiable'],
    ['bytes=-0', 0, 'unsatisfiable'],
    ['bytes=-5', 0, 'whole'],
    ['bytes=0-,-5', 0, 'whole'],
  ])('%j of %d bytes is %s', (header, size, verdict) => {
    expect(written(byteRanges(header, size))).toBe(verdict);
  });

  test.each([
    ['bytes=0-1,4-5', '0-1,4-5'],
    ['bytes=4-5,0-1', '4-5,0-1'],
    ['bytes=0-0,-1', '0-0,99-99'],
    ['bytes=0-1,4-5,200-', '0-1,4-5'],
    ['bytes=0-1,200-', '0-1'],
    ['bytes=0-1,2-3', '0-3'],
    ['bytes=50-,0-9,20-29', '50-99,0-9,20-29'],
    ['bytes=0-5,3-8', '0-8'],
    ['bytes=60-70,0-1,65-80', '60-80,0-1'],
    ['bytes=0-99,10-20', '0-99'],
    ['bytes=0-0,2-2,4-4,6-6,8-8', '0-0,2-2,4-4,6-6,8-8'],
    ['bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6', '0-6'],
    // Too many parts, or the same bytes again and again.
    ['bytes=0-0,2-2,4-4,6-6,8-8,10-10', 'whole'],
    ['bytes=0-,0-,0-', 'whole'],
    ['bytes=0-50,10-60,20-70', 'whole'],
    ['bytes=0-5,3-8,50-60,55-70', 'whole'],
    [`bytes=${Array.from({ length: 100 }, () => '0-').join(',')}`, 'whole'],
    [`bytes=${Array.from({ length: 50 }, (_, index) => `${2 * index}-${2 * index}`).join(',')}`, 'whole'],
  ])('among others, %j of 100 bytes, is %s', (header, verdict) => {
    expect(written(byteRanges(header, 100))).toBe(verdict);
  });
});

function written(verdict: ReturnType<typeof byteRanges>): string {
  if (typeof verdict === 'string') return verdict;
  return verdict.map(({ start, end }) => `${start}-${end}`).join(',');
}
