import type { FacetCount } from '../search-engine.ts';
import type { FacetValue, KnownFacetSets } from './known-facet-sets.ts';

const BUCKETS = 10;
const ZERO = '0'.charCodeAt(0);
/** Numbers counted side by side, for most come in runs: a map of each would take several times as long. */
const PAGE = 64;

export type NumberCount = readonly [number: number, count: number];

/**
 * How often each number, above zero, is in a text of many with a blank behind each. The memory it takes grows with how
 * many there are, not with how great they are.
 */
export function countNumbers(text: string): NumberCount[] {
  const pages = new Map<number, Uint32Array>();
  let number = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit >= 0) {
      number = number * 10 + digit;
      continue;
    }
    const page = pageOf(pages, Math.floor(number / PAGE));
    const place = number % PAGE;
    page[place] = (page[place] ?? 0) + 1;
    number = 0;
  }
  return [...pages].flatMap(([first, counts]) =>
    [...counts].flatMap((count, place): NumberCount[] => (count > 0 ? [[first * PAGE + place, count]] : [])),
  );
}

function pageOf(pages: Map<number, Uint32Array>, index: number): Uint32Array {
  const found = pages.get(index);
  if (found !== undefined) return found;
  const page = new Uint32Array(PAGE);
  pages.set(index, page);
  return page;
}

/**
 * The values of these facets in the sets that were found so often: the most frequent first, ties by value in the order
 * of their code points, at most ten for each name.
 */
export function countFacets(
  setCounts: readonly NumberCount[],
  sets: KnownFacetSets,
  facets: readonly string[],
): Record<string, FacetCount[]> {
  const counts = new Map<FacetValue, number>();
  for (const [id, count] of setCounts) {
    for (const value of sets.get(id) ?? []) counts.set(value, (counts.get(value) ?? 0) + count);
  }
  const buckets: Record<string, FacetCount[]> = {};
  for (const [{ name, facet, value }, count] of counts) {
    if (!facets.includes(facet)) continue;
    buckets[name] ??= [];
    place(buckets[name], { value, count });
  }
  return buckets;
}

/** Among those that come first, as long as there is room. */
function place(bucket: FacetCount[], counted: FacetCount): void {
  let at = bucket.length;
  while (at > 0 && comesBefore(counted, bucket[at - 1])) at -= 1;
  if (at >= BUCKETS) return;
  bucket.splice(at, 0, counted);
  if (bucket.length > BUCKETS) bucket.pop();
}

function comesBefore(one: FacetCount, other: FacetCount | undefined): boolean {
  if (other === undefined) return true;
  if (one.count !== other.count) return one.count > other.count;
  return Buffer.compare(Buffer.from(one.value), Buffer.from(other.value)) < 0;
}
