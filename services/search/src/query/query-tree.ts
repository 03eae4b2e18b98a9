/** A parsed query. Positions are offsets into the text, from 0; fields are index paths, `null` for all of them. */
export type QueryNode =
  | AllNode
  | TermNode
  | PhraseNode
  | FuzzyNode
  | WildcardNode
  | ExistsNode
  | RangeNode
  | BoolNode;

/** Matches every document. */
export interface AllNode {
  type: 'all';
}

/** One word as the user wrote it, escapes resolved. The index decides which tokens it means. */
export interface TermNode {
  type: 'term';
  field: string | null;
  text: string;
  boost: number;
  position: number;
}

/** Words in this order with at most `slop` words moved between them. */
export interface PhraseNode {
  type: 'phrase';
  field: string | null;
  text: string;
  slop: number;
  boost: number;
  position: number;
}

/** A word and the words similar to it, see `FuzzyCondition`. */
export interface FuzzyNode {
  type: 'fuzzy';
  field: string | null;
  text: string;
  /** Maximum number of differing characters; null: by the length of the word. */
  distance: 0 | 1 | 2 | null;
  boost: number;
  position: number;
}

/** A word with `*` (any characters) or `?` (one character) in it. */
export interface WildcardNode {
  type: 'wildcard';
  field: string | null;
  parts: readonly WildcardPart[];
  boost: number;
  position: number;
}

export type WildcardPart = { literal: string } | { any: 'many' | 'one' };

/** Documents that have the field. */
export interface ExistsNode {
  type: 'exists';
  field: string;
  position: number;
}

export interface RangeNode {
  type: 'range';
  field: string;
  /** Null is open. */
  lower: RangeBound | null;
  upper: RangeBound | null;
  position: number;
}

export interface RangeBound {
  value: string;
  isInclusive: boolean;
  position: number;
}

/**
 * All of `must`, none of `mustNot`; `should` only ranks, unless `must` is empty: then one of it is needed. With
 * neither, everything that `mustNot` leaves.
 */
export interface BoolNode {
  type: 'bool';
  must: readonly QueryNode[];
  should: readonly QueryNode[];
  mustNot: readonly QueryNode[];
}

/** Limits of a single query's cost. */
export interface QueryLimits {
  /** UTF-16 units of the whole text. */
  maxLength: number;
  /** Terms, phrases, ranges and the like. */
  maxClauses: number;
  /** Parentheses within parentheses. */
  maxDepth: number;
  /** Words with wildcards. */
  maxWildcards: number;
  /** Clauses that compare each word of the documents: wildcards inside words, and ranges of words and exact values. */
  maxScans: number;
  /** The minimum of literal characters before the first wildcard of a word. */
  minWildcardPrefix: number;
  /** Words with `~`. */
  maxFuzzy: number;
  /** Places that words of a phrase may be moved. */
  maxSlop: number;
}

/** The distance between the words of two values is larger in both engines. */
export const MAX_SLOP = 19;

/** Both engines accept this depth; Elasticsearch rejects about twice as much. */
export const MAX_DEPTH = 20;

export const QUERY_LIMITS: QueryLimits = {
  maxLength: 1_024,
  maxClauses: 64,
  maxDepth: 10,
  maxWildcards: 5,
  maxScans: 2,
  minWildcardPrefix: 3,
  maxFuzzy: 3,
  maxSlop: 10,
};
