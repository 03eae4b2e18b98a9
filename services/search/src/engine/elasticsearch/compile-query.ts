import type { estypes } from '@elastic/elasticsearch';
import { edtfBounds } from '@kr/metadata';
import { fieldType } from '../../documents/fields.ts';
import {
  existsLexeme,
  fieldLexeme,
  fitsIndex,
  foldText,
  storableText,
  textTokens,
} from '../../documents/text-tokens.ts';
import { partialInstant } from '../../query/partial-instant.ts';
import { syntaxError, tooComplex } from '../../query/query-error.ts';
import type {
  BoolNode,
  FuzzyNode,
  PhraseNode,
  QueryNode,
  RangeBound,
  RangeNode,
  TermNode,
  WildcardNode,
} from '../../query/query-tree.ts';
import { similarTo } from '../../query/similar-words.ts';
import type { WordClass } from './stored-document.ts';
import { dayNumber, fieldWord, fitsWord, microsOf } from './stored-document.ts';

export type Query = estypes.QueryDslQueryContainer;

export const NOTHING: Query = { match_none: {} };

/**
 * Compiles a query to one that matches the same documents, scored by the words and values in it.
 *
 * @throws ServiceError `invalid` when a value does not fit its field
 */
export function compileQuery(query: QueryNode): Query {
  return compileNode(query) ?? NOTHING;
}

/** Null: the part has no words (a phrase of punctuation), and is omitted. */
function compileNode(node: QueryNode): Query | null {
  switch (node.type) {
    case 'all':
      return unscored({ match_all: {} });
    case 'exists':
      return unscored(exact(existsLexeme(node.field)));
    case 'bool':
      return compileBool(node);
    case 'range':
      return unscored(compileRange(node));
    case 'wildcard':
      return compileWildcard(node);
    case 'fuzzy':
      return compileFuzzy(node);
    case 'term':
    case 'phrase':
      return node.field !== null && fieldType(node.field) !== 'text'
        ? compileValue(node.field, node)
        : compileWords(node);
  }
}

/** A condition without influence on the score. */
function unscored(filter: Query): Query {
  return { constant_score: { filter, boost: 0 } };
}

/** Beyond it scores would end as infinite. */
const HIGHEST_BOOST = 1e6;

function scored(query: Query, boost: number): Query {
  return boost === 1 ? query : { bool: { must: [query], boost: Math.min(boost, HIGHEST_BOOST) } };
}

function compileWords(node: TermNode | PhraseNode): Query | null {
  const tokens = textTokens(node.text);
  if (tokens.length === 0) return null;
  const slop = node.type === 'phrase' ? node.slop : 0;
  if (slop > 0 && tokens.length > 2) throw tooComplex('"~" takes a phrase of two words', node.position);
  return scored(
    inWords(node.field, tokens, (field, words) =>
      words.length === 1
        ? { term: { [field]: { value: words.join('') } } }
        : { match_phrase: { [field]: { query: words.join(' '), slop } } },
    ),
    node.boost,
  );
}

const CLASS_BOOSTS: Readonly<Record<WordClass, number>> = { a: 10, b: 5, c: 2.5, d: 1 };

/** A query of the words of one field, or of those of all fields, where a document counts by the heaviest. */
function inWords(
  field: string | null,
  tokens: readonly string[],
  query: (field: string, words: readonly string[]) => Query,
): Query {
  if (field !== null) {
    const words = tokens.map((token) => fieldWord(field, token));
    return words.every(fitsWord) ? query('fieldWords', words) : NOTHING;
  }
  const queries = Object.entries(CLASS_BOOSTS).map(([name, boost]) =>
    scored(query(`words.${name}`, tokens), boost),
  );
  return { dis_max: { queries, tie_breaker: 0.3 } };
}

/** A value that no document can have is not searched. */
function exact(lexeme: string): Query {
  const value = storableText(lexeme);
  return fitsIndex(value) ? { term: { exact: { value } } } : NOTHING;
}

/** An exact value of a field that is not text. */
function compileValue(field: string, { text, boost, position }: TermNode | PhraseNode): Query {
  const bound: RangeBound = { value: text, isInclusive: true, position };
  const type = fieldType(field);
  if (type === 'instant' || field.endsWith('_range')) {
    return unscored(compileRange({ type: 'range', field, lower: bound, upper: bound, position }));
  }
  return scored(exact(fieldLexeme(field, type === 'integer' ? String(wholeNumber(bound)) : text)), boost);
}

function compileFuzzy(node: FuzzyNode): Query | null {
  const wanted = similarTo(node);
  if (wanted === null) return null;
  const { word, distance } = wanted;
  return scored(
    inWords(node.field, [word], (field, [value = '']) => {
      if (distance === 0) return { term: { [field]: { value } } };
      // The first character of the word itself has to be the same.
      const prefix = [...value].length - [...word].length + 1;
      return {
        fuzzy: {
          [field]: {
            value,
            fuzziness: distance,
            prefix_length: prefix,
            transpositions: false,
            // Of all words that are like it; otherwise of some, which words of hidden documents would have a part in.
            rewrite: 'constant_score',
          },
        },
      };
    }),
    node.boost,
  );
}

function compileWildcard(node: WildcardNode): Query | null {
  const { field } = node;
  const isText = field === null || fieldType(field) === 'text';
  const [first, ...rest] = node.parts.map((part) =>
    isText && 'literal' in part ? { literal: foldText(part.literal) } : part,
  );
  if (first === undefined || !('literal' in first)) return NOTHING;
  const isPrefixOnly = rest.every((part) => 'any' in part && part.any === 'many');
  const patternOf = (prefix: string) => patternText([{ literal: prefix }, ...rest]);

  if (!isText) {
    const value = storableText(fieldLexeme(field, first.literal));
    if (!fitsIndex(value)) return NOTHING;
    const found: Query = isPrefixOnly
      ? { prefix: { exact: { value } } }
      : { wildcard: { exact: { value: patternOf(value) } } };
    return scored(found, node.boost);
  }
  const tokens = textTokens(first.literal);
  if (tokens.length === 0) return null;
  return scored(
    inWords(field, tokens, (name, words) => {
      const last = words.at(-1) ?? '';
      const begun: Query =
        words.length === 1
          ? { prefix: { [name]: { value: last } } }
          : { match_phrase_prefix: { [name]: { query: words.join(' '), max_expansions: MOST_EXPANSIONS } } };
      if (isPrefixOnly) return begun;
      return { bool: { must: [begun], filter: [{ wildcard: { [name]: { value: patternOf(last) } } }] } };
    }),
    node.boost,
  );
}

/** Words of the index that may begin like the last word of a phrase. */
const MOST_EXPANSIONS = 100_000;

function patternText(parts: WildcardNode['parts']): string {
  return parts
    .map((part) =>
      'literal' in part ? part.literal.replace(/[\\*?]/gu, '\\$&') : part.any === 'many' ? '*' : '?',
    )
    .join('');
}

function compileRange({ field, lower, upper }: RangeNode): Query {
  if (lower === null && upper === null) return exact(existsLexeme(field));
  switch (fieldType(field)) {
    case 'instant':
      return instantRange(field === 'created' ? 'createdAt' : 'updatedAt', lower, upper);
    case 'date':
      return dateRange(lower, upper);
    case 'integer':
      return integerRange(lower, upper);
    default:
      return valueRange(field, lower, upper);
  }
}

function instantRange(field: string, lower: RangeBound | null, upper: RangeBound | null): Query {
  const range: Record<string, string> = {};
  if (lower) {
    const { start, end } = instantSpan(lower);
    range['gte'] = microsOf(lower.isInclusive ? start : end);
  }
  if (upper) {
    const { start, end } = instantSpan(upper);
    range['lt'] = microsOf(upper.isInclusive ? end : start);
  }
  return { range: { [field]: range } };
}

function instantSpan(bound: RangeBound) {
  const span = partialInstant(bound.value);
  if (span === null) throw syntaxError(`"${bound.value}" is not a date`, bound.position);
  return span;
}

/** Documents whose publication dates share a day with the range. */
function dateRange(lower: RangeBound | null, upper: RangeBound | null): Query {
  const filter: Query[] = [];
  if (lower) {
    const { first, last } = days(lower);
    filter.push({ range: { publicationTo: lower.isInclusive ? { gte: first } : { gt: last } } });
  }
  if (upper) {
    const { first, last } = days(upper);
    filter.push({ range: { publicationFrom: upper.isInclusive ? { lte: last } : { lt: first } } });
  }
  return { bool: { filter } };
}

function days(bound: RangeBound): { first: number; last: number } {
  const bounds = edtfBounds(bound.value);
  if (bounds === undefined) throw syntaxError(`"${bound.value}" is not a date`, bound.position);
  return { first: dayNumber(bounds.first), last: dayNumber(bounds.last) };
}

function integerRange(lower: RangeBound | null, upper: RangeBound | null): Query {
  return {
    range: {
      versionIndex: {
        ...(lower ? { [lower.isInclusive ? 'gte' : 'gt']: wholeNumber(lower) } : {}),
        ...(upper ? { [upper.isInclusive ? 'lte' : 'lt']: wholeNumber(upper) } : {}),
      },
    },
  };
}

function wholeNumber({ value, position }: RangeBound): number {
  if (!/^-?\d{1,15}$/u.test(value)) throw syntaxError(`"${value}" is not a whole number`, position);
  return Number(value);
}

/** Values between two others by their code points, which is how terms are ordered. */
function valueRange(field: string, lower: RangeBound | null, upper: RangeBound | null): Query {
  const isText = fieldType(field) === 'text';
  const bound = ({ value }: RangeBound) =>
    isText ? fieldWord(field, foldText(value)) : fieldLexeme(field, value);
  const first = isText ? fieldWord(field, '') : fieldLexeme(field, '');
  // The sign after the one that ends the name of the field.
  const beyond = `${first.slice(0, -1)}>`;
  return {
    bool: {
      filter: [
        exact(existsLexeme(field)),
        {
          range: {
            [isText ? 'fieldWords' : 'exact']: {
              ...(lower
                ? { [lower.isInclusive ? 'gte' : 'gt']: storableText(bound(lower)) }
                : { gte: first }),
              ...(upper
                ? { [upper.isInclusive ? 'lte' : 'lt']: storableText(bound(upper)) }
                : { lt: beyond }),
            },
          },
        },
      ],
    },
  };
}

/** As for `BoolNode`; empty parts are omitted, and a query of only such parts is empty. */
function compileBool(node: BoolNode): Query | null {
  const compile = (nodes: readonly QueryNode[]) => nodes.map(compileNode).filter((part) => part !== null);
  const [must, should, mustNot] = [compile(node.must), compile(node.should), compile(node.mustNot)];
  if (must.length + should.length + mustNot.length === 0) return null;
  if (must.length + should.length === 0 && node.must.length + node.should.length > 0) return NOTHING;
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
