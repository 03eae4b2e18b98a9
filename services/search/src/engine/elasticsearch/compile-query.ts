import type { estypes } from '@elastic/elasticsearch';
import { existsLexeme, fieldLexeme, storableText } from '../../documents/text-tokens.ts';
import type {
  BoolCondition,
  Bound,
  Condition,
  FuzzyCondition,
  PrefixCondition,
  RangeCondition,
  WordsCondition,
} from '../../query/query-conditions.ts';
import type { WildcardPart } from '../../query/query-tree.ts';
import { dayNumber, fieldWord, fitsWord, microsOf, type WordClass } from './stored-document.ts';

export type Query = estypes.QueryDslQueryContainer;

export const NOTHING: Query = { match_none: {} };

/** Translates a query to one that matches the same documents, scored by the words and values in it. */
export function compileQuery(condition: Condition): Query {
  switch (condition.type) {
    case 'all':
      return unscored({ match_all: {} });
    case 'nothing':
      return NOTHING;
    case 'words':
      return compileWords(condition);
    case 'prefix':
      return compilePrefix(condition);
    case 'fuzzy':
      return compileFuzzy(condition);
    case 'exact': {
      const { lexeme, boost } = condition;
      return boost === null ? unscored(exact(lexeme)) : scored(exact(lexeme), boost);
    }
    case 'bool':
      return compileBool(condition);
    default:
      return unscored(compileRange(condition));
  }
}

/** A condition without influence on the score. */
function unscored(filter: Query): Query {
  return { constant_score: { filter, boost: 0 } };
}

/** Higher boosts would make scores infinite. */
const MAX_BOOST = 1e6;

function scored(query: Query, boost: number): Query {
  return boost === 1 ? query : { bool: { must: [query], boost: Math.min(boost, MAX_BOOST) } };
}

const exact = (value: string): Query => ({ term: { exact: { value } } });

const CLASS_BOOSTS: Readonly<Record<WordClass, number>> = { a: 10, b: 5, c: 2.5, d: 1 };

/** A query of the words of one field, or of those of all fields, where a document counts by the heaviest. */
function inWords(
  { field, boost }: { field: string | null; boost: number },
  tokens: readonly string[],
  query: (field: string, words: readonly string[]) => Query,
): Query {
  if (field !== null) {
    const words = tokens.map((token) => fieldWord(field, token));
    return scored(words.every(fitsWord) ? query('fieldWords', words) : NOTHING, boost);
  }
  const queries = Object.entries(CLASS_BOOSTS).map(([name, classBoost]) =>
    scored(query(`words.${name}`, tokens), classBoost),
  );
  return scored({ dis_max: { queries, tie_breaker: 0.3 } }, boost);
}

function compileWords(condition: WordsCondition): Query {
  return inWords(condition, condition.words, (field, words) =>
    words.length === 1
      ? { term: { [field]: { value: words.join('') } } }
      : { match_phrase: { [field]: { query: words.join(' '), slop: condition.slop } } },
  );
}

function compileFuzzy(condition: FuzzyCondition): Query {
  const { word, distance } = condition;
  return inWords(condition, [word], (field, [value = '']) => {
    if (distance === 0) return { term: { [field]: { value } } };
    return {
      fuzzy: {
        [field]: {
          value,
          fuzziness: distance,
          // The first character of the word itself has to be the same.
          prefix_length: [...value].length - [...word].length + 1,
          transpositions: false,
          // Of all similar words; other rewrites select some, which depend on words of hidden documents.
          rewrite: 'constant_score',
        },
      },
    };
  });
}

/** Words of the index that start with the last word of a phrase. */
const MAX_EXPANSIONS = 100_000;

function compilePrefix(condition: PrefixCondition): Query {
  const { field, isText, words: before, prefix, pattern, boost } = condition;
  if (field !== null && !isText) {
    const value = storableText(fieldLexeme(field, prefix));
    if (pattern === null) return scored({ prefix: { exact: { value } } }, boost);
    return scored({ wildcard: { exact: { value: patternText(value, pattern) } } }, boost);
  }
  return inWords(condition, [...before, prefix], (name, words) => {
    const last = words.at(-1) ?? '';
    const startsWith: Query =
      words.length === 1
        ? { prefix: { [name]: { value: last } } }
        : { match_phrase_prefix: { [name]: { query: words.join(' '), max_expansions: MAX_EXPANSIONS } } };
    if (pattern === null) return startsWith;
    const fits = { wildcard: { [name]: { value: patternText(last, pattern) } } };
    return { bool: { must: [startsWith], filter: [fits] } };
  });
}

function patternText(prefix: string, pattern: readonly WildcardPart[]): string {
  return [{ literal: prefix }, ...pattern]
    .map((part) =>
      'literal' in part ? part.literal.replace(/[\\*?]/gu, '\\$&') : part.any === 'many' ? '*' : '?',
    )
    .join('');
}

const atLeast = <Value>(bound: Bound<Value> | null): { gte?: Value; gt?: Value } =>
  bound === null ? {} : bound.isInclusive ? { gte: bound.value } : { gt: bound.value };

const atMost = <Value>(bound: Bound<Value> | null): { lte?: Value; lt?: Value } =>
  bound === null ? {} : bound.isInclusive ? { lte: bound.value } : { lt: bound.value };

const map = <From, To>(bound: Bound<From> | null, change: (value: From) => To): Bound<To> | null =>
  bound && { ...bound, value: change(bound.value) };

function compileRange(condition: RangeCondition): Query {
  switch (condition.type) {
    case 'instants': {
      const { of, from, before } = condition;
      return {
        range: {
          [of]: {
            ...(from === null ? {} : { gte: microsOf(from) }),
            ...(before === null ? {} : { lt: microsOf(before) }),
          },
        },
      };
    }
    case 'days': {
      const { firstDay, lastDay } = condition;
      return {
        bool: {
          filter: [
            ...(lastDay === null ? [] : [{ range: { publicationTo: atLeast(map(lastDay, dayNumber)) } }]),
            ...(firstDay === null ? [] : [{ range: { publicationFrom: atMost(map(firstDay, dayNumber)) } }]),
          ],
        },
      };
    }
    case 'versions':
      return { range: { versionIndex: { ...atLeast(condition.lower), ...atMost(condition.upper) } } };
    case 'values': {
      const { field, isText, lower, upper } = condition;
      const termOf = (value: string) =>
        storableText(isText ? fieldWord(field, value) : fieldLexeme(field, value));
      const first = termOf('');
      // The character after the one that ends the name of the field.
      const end = `${first.slice(0, -1)}>`;
      const bounds = {
        ...(lower === null ? { gte: first } : atLeast(map(lower, termOf))),
        ...(upper === null ? { lt: end } : atMost(map(upper, termOf))),
      };
      const exists = exact(storableText(existsLexeme(field)));
      return { bool: { filter: [exists, { range: { [isText ? 'fieldWords' : 'exact']: bounds } }] } };
    }
  }
}

function compileBool(condition: BoolCondition): Query {
  const [must, should, mustNot] = [condition.must, condition.should, condition.mustNot].map((parts) =>
    parts.map(compileQuery),
  ) as [Query[], Query[], Query[]];
  return {
    bool: {
      ...(must.length > 0 ? { must } : {}),
      ...(should.length > 0 ? { should, minimum_should_match: must.length > 0 ? 0 : 1 } : {}),
      // A query of exclusions alone would score the remaining documents with 1 in some forms and 0 in others.
      ...(must.length + should.length === 0 ? { filter: [{ match_all: {} }] } : {}),
      ...(mustNot.length > 0 ? { must_not: mustNot } : {}),
    },
  };
}
