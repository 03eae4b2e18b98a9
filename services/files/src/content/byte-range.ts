import type { ByteRange } from '../blob/blob-store.ts';

/** `whole` also where a range is not understood or not served: RFC 9110, 14.2, lets a server answer with everything. */
export type RangeVerdict = 'whole' | 'unsatisfiable' | ByteRange;

/**
 * What a Range header asks of an object of this size: RFC 9110, 14.1.2, one range. Several ranges at once, and units
 * other than bytes, are answered with everything; a byte range that is malformed or lies outside is not satisfiable.
 */
export function byteRange(header: string | undefined, sizeBytes: number): RangeVerdict {
  if (header === undefined || !/^bytes=/i.test(header)) return 'whole';
  const ranges = header.slice('bytes='.length).split(',');
  if (ranges.length > 1) return 'whole';
  const [, first = '', last = ''] = /^\s*(\d*)\s*-\s*(\d*)\s*$/.exec(ranges[0] ?? '') ?? [];
  if (first === '' && last === '') return 'unsatisfiable';
  if (first === '') return suffix(Number(last), sizeBytes);
  const start = Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start > end ? 'unsatisfiable' : { start, end };
}

function suffix(length: number, sizeBytes: number): RangeVerdict {
  if (length === 0) return 'unsatisfiable';
  // A part of an object without bytes cannot be named.
  if (sizeBytes === 0) return 'whole';
  return { start: Math.max(0, sizeBytes - length), end: sizeBytes - 1 };
}
