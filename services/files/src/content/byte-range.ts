import type { ByteRange } from '../blob/blob-store.ts';

/** `whole`: the header is ignored. */
export type RangeVerdict = 'whole' | 'unsatisfiable' | ByteRange;

const ONE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * The part of a representation that a Range header asks for (RFC 9110, 14.1.2). A malformed header, another unit and a list of
 * ranges are ignored, which 14.2 lets a server do.
 */
export function byteRange(header: string | undefined, sizeBytes: number): RangeVerdict {
  const [matched, first = '', last = '', suffix = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (matched === undefined) return 'whole';
  const isSuffix = first === '';
  // A range cannot name a part of a representation without bytes, but its last bytes may be asked for.
  if (isSuffix && sizeBytes === 0 && Number(suffix) > 0) return 'whole';
  if (!isSuffix && last !== '' && Number(last) < Number(first)) return 'whole';
  const start = isSuffix ? Math.max(0, sizeBytes - Number(suffix)) : Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start <= end ? { start, end } : 'unsatisfiable';
}
