import { activeElsewhere, POSTGRES } from '../active-index.ts';
import type { EngineAnswer, EngineHit, EngineSearch, EntityForm, EntityKind } from '../search-engine.ts';
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
  kept_up: string;
}

/** Facet sets are cached between searches. */
export function searchRunner(): (queries: TimedQueries, search: EngineSearch) => Promise<EngineAnswer> {
  const facetSets = facetSetReader();

  const attempt = async (queries: TimedQueries, search: EngineSearch): Promise<EngineAnswer | undefined> => {
    const { text, values } = searchSql(search, await similarWords(queries, search.query));
    const { rows } = await queries.query<SearchRow>(text, [...values]);
    const [row] = rows;
    if (!row) throw new Error('a search statement answers one row');
    if (row.kept_up !== POSTGRES) throw activeElsewhere();
    const setCounts = countNumbers(row.facet_sets);
    const sets = await facetSets.read(
      queries,
      setCounts.map(([id]) => id),
    );
    return sets === undefined ? undefined : answerOf(row, setCounts, sets, search.facets);
  };

  return async (queries, search) => {
    // Another index may take the place between the two statements, but not again so soon.
    const answer = (await attempt(queries, search)) ?? (await attempt(queries, search));
    if (answer === undefined) throw new Error('the index has documents with facet sets that it lacks');
    return answer;
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
