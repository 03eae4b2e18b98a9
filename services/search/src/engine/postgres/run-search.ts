import type { EntityForm, EntityKind } from '../../documents/entity.ts';
import type { Answered, EngineAnswer, EngineHit, EngineSearch } from '../search-engine.ts';
import {
  countFacets,
  countNumbers,
  facetSetReader,
  type KnownFacetSets,
  type NumberCount,
} from './facets.ts';
import { searchSql } from './search-sql.ts';
import { similarWords } from './similar-words.ts';
import type { TimedQueries } from './timed-queries.ts';

interface SearchRow {
  hits: [
    kind: EntityKind,
    id: string,
    form: EntityForm,
    createdAt: string,
    updatedAt: string,
    versionIndex: number,
  ][];
  total: string;
  facet_sets: string;
  missing: string[];
  live: string | null;
}

/** Facet sets are cached between searches. */
export function searchRunner() {
  const facetSets = facetSetReader();

  return async (
    queries: TimedQueries,
    schema: string,
    search: EngineSearch,
  ): Promise<Answered<EngineAnswer>> => {
    const { text, values } = searchSql(search, await similarWords(queries, schema, search.query), schema);
    const { rows } = await queries.query<SearchRow>(text, [...values]);
    const [row] = rows;
    if (!row) throw new Error('a search statement answers one row');
    const setCounts = countNumbers(row.facet_sets);
    const ids = setCounts.map(([id]) => id);
    const sets = await facetSets.read(queries, schema, ids);
    return { answer: answerOf(row, setCounts, sets, search.facets), live: row.live };
  };
}

function answerOf(
  { hits, total, missing }: SearchRow,
  setCounts: readonly NumberCount[],
  sets: KnownFacetSets,
  facets: readonly string[],
): EngineAnswer {
  return {
    hits: hits.map(
      ([kind, id, form, createdAt, updatedAt, versionIndex]): EngineHit => ({
        kind,
        id,
        form,
        createdAt,
        updatedAt,
        versionIndex,
      }),
    ),
    total: Number(total),
    facets: countFacets(setCounts, sets, facets),
    missing,
  };
}
