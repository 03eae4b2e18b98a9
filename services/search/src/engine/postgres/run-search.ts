import type { Answered, EngineAnswer, EngineSearch } from '../search-engine.ts';
import { countFacets, countNumbers, facetSetReader } from './facets.ts';
import { searchSql } from './search-sql.ts';
import { similarWords } from './similar-words.ts';
import type { TimedQueries } from './timed-queries.ts';

interface SearchRow {
  hits: EngineAnswer['hits'];
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
    if (!row) throw new Error('a search statement returns one row');
    const { hits, total, missing, live } = row;
    const setCounts = countNumbers(row.facet_sets);
    const sets = await facetSets.read(
      queries,
      schema,
      setCounts.map(([id]) => id),
    );
    const facets = countFacets(setCounts, sets, search.facets);
    return { answer: { hits, total: Number(total), facets, missing }, live };
  };
}
