import { type Condition, collectFuzzyConditions, type FuzzyCondition } from '../../query/query-conditions.ts';
import type { TimedQueries } from './timed-queries.ts';

/** The words of the index for each `~` of a query. */
export type SimilarWords = ReadonlyMap<FuzzyCondition, readonly string[]>;

export async function similarWords(
  queries: TimedQueries,
  schema: string,
  query: Condition | null,
): Promise<SimilarWords> {
  const found = new Map<FuzzyCondition, readonly string[]>();
  for (const condition of query === null ? [] : collectFuzzyConditions(query)) {
    const { word, distance } = condition;
    found.set(condition, distance === 0 ? [word] : await wordsLike(queries, schema, condition));
  }
  return found;
}

async function wordsLike(
  queries: TimedQueries,
  schema: string,
  { word, distance }: FuzzyCondition,
): Promise<string[]> {
  const { rows } = await queries.query<{ word: string }>(wordsLikeIn(schema), [word, distance]);
  return rows.map((row) => row.word);
}

/** All of them: with a limit, words of documents that the caller may not see could displace others. */
const wordsLikeIn = (schema: string): string => `
  SELECT word FROM ${schema}.index_word
  WHERE word ^@ left($1, 1) AND char_length(word) BETWEEN char_length($1) - $2 AND char_length($1) + $2
    AND levenshtein_less_equal(word, $1, $2) <= $2
  ORDER BY word`;
