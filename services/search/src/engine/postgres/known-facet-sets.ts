import { readFacetEntry } from './facet-sets.ts';
import type { TimedQueries } from './timed-queries.ts';

/** One value of a facet. The same object wherever it stands, so that it can be counted by itself. */
export interface FacetValue {
  /** What it is counted under: the name of the facet, with the outer value for those of a nested one. */
  name: string;
  facet: string;
  value: string;
}

/** The sets by their ids, which stand for the same in all indexes. */
export type KnownFacetSets = ReadonlyMap<number, readonly FacetValue[]>;

/** Some ten megabytes. */
const MOST_KNOWN = 200_000;

/** What was learnt together, so that the same value is the same object in all of it. */
interface Learnt {
  sets: Map<number, readonly FacetValue[]>;
  values: Map<string, FacetValue>;
}

const nothing = (): Learnt => ({ sets: new Map(), values: new Map() });

/**
 * Learns what the ids of sets stand for, each once. Beyond `mostKnown` it begins anew, but never before it knows twice as
 * many as it was ever asked for at once: it would learn the same for each search.
 */
export function facetSetReader(mostKnown = MOST_KNOWN): {
  /** @returns undefined when there is no set of some id any more: the index that had it was replaced meanwhile */
  read(queries: TimedQueries, ids: readonly number[]): Promise<KnownFacetSets | undefined>;
} {
  let limit = mostKnown;
  let learnt = nothing();

  return {
    read: async (queries, ids) => {
      limit = Math.max(limit, 2 * ids.length);
      if (learnt.sets.size > limit) learnt = nothing();
      // Others may begin anew while the database answers.
      const { sets, values } = learnt;
      const unknown = ids.filter((id) => !sets.has(id));
      if (unknown.length === 0) return sets;
      // The driver tells a bigint as a text.
      const { rows } = await queries.query<{ id: number; entries: string[] }>(
        'SELECT id::float8 AS id, entries FROM index_facet_set WHERE id = ANY ($1::bigint[])',
        [unknown],
      );
      for (const { id, entries } of rows) {
        sets.set(
          id,
          entries.map((entry) => shared(values, entry)),
        );
      }
      return rows.length === unknown.length ? sets : undefined;
    },
  };
}

function shared(values: Map<string, FacetValue>, entry: string): FacetValue {
  const value = values.get(entry) ?? readFacetEntry(entry);
  values.set(entry, value);
  return value;
}
