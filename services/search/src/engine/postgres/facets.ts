import { hash } from 'node:crypto';
import { storableText } from '../../documents/text-tokens.ts';
import type { FacetCount } from '../search-engine.ts';
import { nestedValue } from '../search-rules.ts';
import type { TimedQueries } from './timed-queries.ts';

/** Facet entries that are stored once for all documents that have them. */
export interface FacetSet {
  /** The same for the same entries. */
  key: string;
  entries: readonly string[];
}

/** Facets with values of the users' own: sets of them together with other entries would rarely recur. */
const FREE_FACETS: ReadonlySet<string> = new Set(['subject']);

export function isFree(facet: string): boolean {
  return FREE_FACETS.has(facet);
}

/** The sets of a document: first one with the entries of all facets but the free ones, then one for each free value. */
export function facetSets(facets: Readonly<Record<string, readonly string[]>>): FacetSet[] {
  const named = Object.entries(facets).sort(([one], [other]) => (one < other ? -1 : 1));
  const entriesOf = (isOfFree: boolean) =>
    named
      .filter(([facet]) => isFree(facet) === isOfFree)
      .flatMap(([facet, values]) => values.map((value) => storableText(facetEntry(facet, value))));
  return [facetSet(entriesOf(false)), ...entriesOf(true).map((entry) => facetSet([entry]))];
}

function facetSet(entries: readonly string[]): FacetSet {
  return { key: hash('sha256', JSON.stringify(entries), 'base64url'), entries };
}

/** The format of a value in a set: `facet=value`, or `facet::outer=inner`. */
export function facetEntry(facet: string, value: string): string {
  const nested = nestedValue(facet, value);
  return nested === null ? `${facet}=${value}` : `${facet}::${nested.outer}=${nested.inner}`;
}

/** The parts of a `facetEntry`: the name of the counts, the facet, and the value. */
export function readFacetEntry(entry: string): { name: string; facet: string; value: string } {
  const end = entry.indexOf('=');
  const name = entry.slice(0, end);
  return { name, facet: name.split('::', 1)[0] ?? name, value: entry.slice(end + 1) };
}

/** One value of a facet. The same object everywhere, so that it can be counted by identity. */
export interface FacetValue {
  /** The name of its counts: the facet, with the outer value for values of a nested one. */
  name: string;
  facet: string;
  value: string;
}

/** The sets by their ids, which are the same in all indexes. */
export type FacetSets = ReadonlyMap<number, readonly FacetValue[]>;

/** Some ten megabytes. */
const MAX_CACHED = 200_000;

/** Values that were loaded together share objects. */
interface Cache {
  sets: Map<number, readonly FacetValue[]>;
  values: Map<string, FacetValue>;
}

const emptyCache = (): Cache => ({ sets: new Map(), values: new Map() });

/**
 * Loads the sets of ids, each once. When the cache has more than `maxCached`, it is cleared, but not before it has twice as
 * many as one search ever used: otherwise each search would load the same ones.
 */
export function facetSetReader(maxCached = MAX_CACHED): {
  /** @throws Error when the schema has no set with some id */
  read(queries: TimedQueries, schema: string, ids: readonly number[]): Promise<FacetSets>;
} {
  let limit = maxCached;
  let cache = emptyCache();

  return {
    read: async (queries, schema, ids) => {
      limit = Math.max(limit, 2 * ids.length);
      if (cache.sets.size > limit) cache = emptyCache();
      // Other calls may clear the cache while the database answers.
      const { sets, values } = cache;
      const unknown = ids.filter((id) => !sets.has(id));
      if (unknown.length === 0) return sets;
      // The driver returns a bigint as text.
      const { rows } = await queries.query<{ id: number; entries: string[] }>(
        `SELECT id::float8 AS id, entries FROM ${schema}.index_facet_set WHERE id = ANY ($1::bigint[])`,
        [unknown],
      );
      for (const { id, entries } of rows) {
        sets.set(
          id,
          entries.map((entry) => shared(values, entry)),
        );
      }
      if (rows.length < unknown.length)
        throw new Error('the index has documents with facet sets that it lacks');
      return sets;
    },
  };
}

function shared(values: Map<string, FacetValue>, entry: string): FacetValue {
  const value = values.get(entry) ?? readFacetEntry(entry);
  values.set(entry, value);
  return value;
}

const BUCKETS = 10;
const ZERO = '0'.charCodeAt(0);
/** Numbers counted in arrays, because most are consecutive: a map would be several times slower. */
const PAGE = 64;

export type NumberCount = readonly [number: number, count: number];

/**
 * The counts of the positive numbers in a text, each followed by a blank. The memory grows with the number of distinct
 * values, not with their size.
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
    const offset = number % PAGE;
    page[offset] = (page[offset] ?? 0) + 1;
    number = 0;
  }
  return [...pages].flatMap(([first, counts]) =>
    [...counts].flatMap((count, offset): NumberCount[] =>
      count > 0 ? [[first * PAGE + offset, count]] : [],
    ),
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
 * The counts of the values of these facets, from the counts of their sets: the most frequent first, ties by value in the order
 * of their code points, at most ten for each name.
 */
export function countFacets(
  setCounts: readonly NumberCount[],
  sets: FacetSets,
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
    insert(buckets[name], { value, count });
  }
  return buckets;
}

/** Inserts a count if it is among the most frequent ones. */
function insert(bucket: FacetCount[], counted: FacetCount): void {
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
