import type { FuzzyNode, QueryNode } from '../../query/query-tree.ts';
import { type SimilarTo, similarTo } from '../../query/similar-words.ts';
import type { TimedQueries } from './timed-queries.ts';

/** The expansions of each `~` of a query, without words that no text contains. */
export type SimilarWords = ReadonlyMap<FuzzyNode, readonly string[]>;

/** @throws ServiceError `invalid`: see `similarTo` */
export async function similarWords(
  queries: TimedQueries,
  schema: string,
  query: QueryNode | null,
): Promise<SimilarWords> {
  const found = new Map<FuzzyNode, readonly string[]>();
  for (const node of query === null ? [] : fuzzyNodes(query)) {
    const wanted = similarTo(node);
    if (wanted === null) continue;
    found.set(node, wanted.distance === 0 ? [wanted.word] : await wordsLike(queries, schema, wanted));
  }
  return found;
}

function fuzzyNodes(node: QueryNode): FuzzyNode[] {
  if (node.type === 'fuzzy') return [node];
  if (node.type !== 'bool') return [];
  return [...node.must, ...node.should, ...node.mustNot].flatMap(fuzzyNodes);
}

async function wordsLike(
  queries: TimedQueries,
  schema: string,
  { word, distance }: SimilarTo,
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
