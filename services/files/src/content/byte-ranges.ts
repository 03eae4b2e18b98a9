import type { ByteRange } from '../blob/blob-store.ts';

/** `whole` also where ranges are not understood or cost too much: RFC 9110, 14.2, lets a server answer with everything. */
export type RangeVerdict = 'whole' | 'unsatisfiable' | Parts;

export type Parts = readonly [ByteRange, ...ByteRange[]];

/** Parts that one answer may have. */
const MOST_PARTS = 5;

/** Ranges that may begin inside another one; more of them only make a server send the same bytes again. */
const MOST_OVERLAPS = 1;

const SPEC = /^[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/;
// A list may have empty elements (RFC 9110, 5.6.1).
const EMPTY = /^[ \t]*$/;

type Spec = { first: number; last: number } | { suffix: number };

/**
 * The parts of a representation that a Range header asks for, at least one, in the order in which they are asked for
 * and without those that lie outside; ranges that touch become one (RFC 9110, 14.1.2 and 14.2).
 */
export function byteRanges(header: string | undefined, sizeBytes: number): RangeVerdict {
  const specs = rangeSpecs(header);
  if (specs === undefined) return 'whole';
  // A part of a representation without bytes cannot be named, though its last bytes may be asked for.
  if (sizeBytes === 0) return specs.some(isSuffix) ? 'whole' : 'unsatisfiable';
  const ranges = specs.map((spec) => resolved(spec, sizeBytes)).filter((range) => range.start <= range.end);
  const { parts, overlaps } = coalesced(ranges);
  const [first, ...others] = parts;
  if (first === undefined) return 'unsatisfiable';
  return parts.length > MOST_PARTS || overlaps > MOST_OVERLAPS ? 'whole' : [first, ...others];
}

/** Undefined for another unit, and where one of the ranges is malformed: then the header is to be ignored as a whole. */
function rangeSpecs(header: string | undefined): Spec[] | undefined {
  const set = /^bytes=(.*)$/i.exec(header ?? '')?.[1];
  const elements = (set ?? '').split(',').filter((element) => !EMPTY.test(element));
  const specs = elements.map(rangeSpec);
  return specs.length > 0 && specs.every((spec) => spec !== undefined) ? specs : undefined;
}

function rangeSpec(element: string): Spec | undefined {
  const [matched, first = '', last = '', suffix = ''] = SPEC.exec(element) ?? [];
  if (matched === undefined) return undefined;
  if (first === '') return Number(suffix) === 0 ? NOTHING : { suffix: Number(suffix) };
  const range = { first: Number(first), last: last === '' ? Number.POSITIVE_INFINITY : Number(last) };
  return range.last < range.first ? undefined : range;
}

/** No last bytes at all: well formed, and outside of everything. */
const NOTHING = { first: Number.POSITIVE_INFINITY, last: Number.POSITIVE_INFINITY };

function isSuffix(spec: Spec): boolean {
  return 'suffix' in spec;
}

function resolved(spec: Spec, sizeBytes: number): ByteRange {
  if ('suffix' in spec) return { start: Math.max(0, sizeBytes - spec.suffix), end: sizeBytes - 1 };
  return { start: spec.first, end: Math.min(spec.last, sizeBytes - 1) };
}

function coalesced(ranges: readonly ByteRange[]): { parts: ByteRange[]; overlaps: number } {
  const inPlace = ranges.map((range, asked) => ({ ...range, asked })).sort((a, b) => a.start - b.start);
  const parts: typeof inPlace = [];
  let overlaps = 0;
  for (const range of inPlace) {
    const before = parts.at(-1);
    if (before === undefined || range.start > before.end + 1) {
      parts.push(range);
      continue;
    }
    if (range.start <= before.end) overlaps += 1;
    before.end = Math.max(before.end, range.end);
    before.asked = Math.min(before.asked, range.asked);
  }
  parts.sort((a, b) => a.asked - b.asked);
  return { parts: parts.map(({ start, end }) => ({ start, end })), overlaps };
}
