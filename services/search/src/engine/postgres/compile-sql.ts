import { existsLexeme, fieldLexeme, fitsIndex, storableText } from '../../documents/text-tokens.ts';
import {
  type BoolCondition,
  type Bound,
  type Condition,
  type ExactCondition,
  type FuzzyCondition,
  lexemeOf,
  type PrefixCondition,
  type RangeCondition,
  type WordsCondition,
} from '../../query/query-conditions.ts';
import { type Parameters, quoteLexeme } from './parameters.ts';
import type { SimilarWords } from './similar-words.ts';

export interface CompiledQuery {
  /** A condition on the columns of `index_document`, aliased `d`. */
  where: string;
  /** A number that grows with how well the row fits; null when nothing in the query ranks. Adds parameters. */
  rank: () => string | null;
  /** Conditions on the same columns, of rows that probably rank high; none if that costs too much. Adds parameters. */
  rankCandidates: () => string[];
}

/**
 * Translates a query to SQL; values go into `parameters` only. Conditions that fit into one tsquery are combined, so that one index
 * scan answers them.
 * @param similar the words for each `~` of the query, of `similarWords`
 */
export function compileSql(
  condition: Condition,
  parameters: Parameters,
  similar: SimilarWords,
): CompiledQuery {
  const fragment = compile(condition, { parameters, similar });
  const parts = rankedParts(condition, similar);
  return {
    where: asSql(fragment, parameters),
    rank: () => rankSql(parts, parameters),
    rankCandidates: () => candidatesSql(parts, fragment, parameters),
  };
}

/** Either a tsquery literal or a SQL condition. */
type Fragment = { tsquery: string } | { sql: string };

interface Compilation {
  parameters: Parameters;
  similar: SimilarWords;
}

function compile(condition: Condition, at: Compilation): Fragment {
  switch (condition.type) {
    case 'all':
      return { sql: 'true' };
    case 'nothing':
      return { sql: 'false' };
    case 'words':
    case 'exact':
      return { tsquery: tsqueryOf(condition) };
    case 'prefix':
      return compilePrefix(condition, at.parameters);
    case 'fuzzy': {
      const chunks = similarChunks(condition, at.similar).map((words) => ({
        tsquery: anyOf(lexemes(condition.field, words)),
      }));
      const [only = { sql: 'false' }, ...others] = chunks;
      if (others.length === 0) return only;
      return { sql: `(${chunks.map((chunk) => asSql(chunk, at.parameters)).join(' OR ')})` };
    }
    case 'bool':
      return compileBool(condition, at);
    default:
      return { sql: compileRange(condition, at.parameters) };
  }
}

const lexemes = (field: string | null, words: readonly string[]): string[] =>
  words.map((word) => quoteLexeme(lexemeOf(field, word)));

const anyOf = (operands: readonly string[]): string => `(${operands.join(' | ')})`;

type Term = WordsCondition | PrefixCondition | ExactCondition;

/** @param field replaces the field of the condition */
function tsqueryOf(term: Term, field?: string): string {
  if (term.type === 'exact') return quoteLexeme(term.lexeme);
  const where = field ?? term.field;
  if (term.type === 'words') return phrase(lexemes(where, term.words), term.slop);
  const [prefix = ''] = lexemes(where, [term.prefix]);
  return phrase([...lexemes(where, term.words), `${prefix}:*`], 0);
}

/** @param slop zero for other phrases than those of two words */
function phrase(parts: readonly string[], slop: number): string {
  const [first = '', second] = parts;
  if (second === undefined) return first;
  if (slop === 0) return `(${parts.join(' <-> ')})`;
  const forth = distances(1, slop + 1).map((distance) => `(${first} <${distance}> ${second})`);
  // A transposition is two moves.
  const back = distances(1, slop - 1).map((distance) => `(${second} <${distance}> ${first})`);
  return anyOf([...forth, ...back]);
}

function distances(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

function compilePrefix(condition: PrefixCondition, parameters: Parameters): Fragment {
  const startsWith = { tsquery: tsqueryOf(condition) };
  const { field, prefix, pattern } = condition;
  if (pattern === null) return startsWith;
  const like = [{ literal: lexemeOf(field, prefix) }, ...pattern]
    .map((part) =>
      'literal' in part ? part.literal.replace(/[\\%_]/gu, '\\$&') : part.any === 'many' ? '%' : '_',
    )
    .join('');
  return {
    sql: `(${asSql(startsWith, parameters)} AND ${someLexeme(`t.lexeme LIKE ${parameters.add(like)}`)})`,
  };
}

const someLexeme = (condition: string): string =>
  `EXISTS (SELECT FROM unnest(d.terms) AS t WHERE ${condition})`;

/** Words per tsquery, which is limited in size and searched recursively. */
const MAX_ALTERNATIVES = 256;

function similarChunks(condition: FuzzyCondition, similar: SimilarWords): string[][] {
  const words = similar.get(condition) ?? [];
  const fitting = words.filter((word) => fitsIndex(lexemeOf(condition.field, word)));
  return Array.from({ length: Math.ceil(fitting.length / MAX_ALTERNATIVES) }, (_, at) =>
    fitting.slice(at * MAX_ALTERNATIVES, (at + 1) * MAX_ALTERNATIVES),
  );
}

/** SQL has no year 0. */
export function sqlDate(day: string): string {
  return day.startsWith('0000') ? '-infinity' : day;
}

function compileRange(condition: RangeCondition, parameters: Parameters): string {
  const cast = (value: string | number, type: string) => `${parameters.add(value)}::${type}`;
  const compare = <Value>(
    column: string,
    sign: '<' | '>',
    bound: Bound<Value> | null,
    sqlOf: (value: Value) => string,
  ) => (bound === null ? [] : [`${column} ${sign}${bound.isInclusive ? '=' : ''} ${sqlOf(bound.value)}`]);
  switch (condition.type) {
    case 'instants': {
      const column = condition.of === 'createdAt' ? 'd.created_at' : 'd.updated_at';
      return conjunction([
        ...(condition.from === null ? [] : [`${column} >= ${cast(condition.from, 'timestamptz')}`]),
        ...(condition.before === null ? [] : [`${column} < ${cast(condition.before, 'timestamptz')}`]),
      ]);
    }
    case 'days': {
      const day = (value: string) => cast(sqlDate(value), 'date');
      const conditions = [
        ...compare('d.publication_to', '>', condition.lastDay, day),
        ...compare('d.publication_from', '<', condition.firstDay, day),
      ];
      return `coalesce(${conditions.join(' AND ')}, false)`;
    }
    case 'versions': {
      const number = (value: number) => cast(value, 'bigint');
      return conjunction([
        ...compare('d.version_index', '>', condition.lower, number),
        ...compare('d.version_index', '<', condition.upper, number),
      ]);
    }
    case 'values': {
      const { field, lower, upper } = condition;
      const lexeme = (value: string) => parameters.add(fieldLexeme(field, value));
      const exists = { tsquery: quoteLexeme(storableText(existsLexeme(field))) };
      const conditions = [
        `starts_with(t.lexeme, ${lexeme('')})`,
        ...compare('t.lexeme COLLATE "C"', '>', lower, lexeme),
        ...compare('t.lexeme COLLATE "C"', '<', upper, lexeme),
      ];
      return conjunction([asSql(exists, parameters), someLexeme(conditions.join(' AND '))]);
    }
  }
}

const conjunction = (conditions: readonly string[]): string => `(${conditions.join(' AND ')})`;

function compileBool({ must, should, mustNot }: BoolCondition, at: Compilation): Fragment {
  const all = (conditions: readonly Condition[]) => conditions.map((condition) => compile(condition, at));
  const needed = must.length > 0 ? all(must) : should.length > 0 ? [join('|', all(should), at)] : [];
  // A negation inside a tsquery would also negate the match of a phrase's position, so it stays outside of it.
  const excluded = all(mustNot).map((part) => ({ sql: `NOT ${asSql(part, at.parameters)}` }));
  return join('&', [...needed, ...excluded], at);
}

function join(
  operator: '&' | '|',
  parts: readonly Fragment[],
  { parameters }: Pick<Compilation, 'parameters'>,
): Fragment {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const literals = parts.flatMap((part) => ('tsquery' in part ? [part.tsquery] : []));
  const conditions = parts.flatMap((part) => ('sql' in part ? [part.sql] : []));
  const merged = literals.length === 0 ? [] : [{ tsquery: `(${literals.join(` ${operator} `)})` }];
  if (conditions.length === 0 && merged[0]) return merged[0];
  const all = [...merged.map((part) => asSql(part, parameters)), ...conditions];
  return { sql: `(${all.join(operator === '&' ? ' AND ' : ' OR ')})` };
}

function asSql(part: Fragment, parameters: Parameters): string {
  return 'sql' in part ? part.sql : `d.terms @@ ${parameters.add(part.tsquery)}::tsquery`;
}

/** A part of the query whose matches rank a document higher. */
interface RankedPart {
  tsquery: string;
  /** The same in the title alone, which has the highest weight; null for conditions on one field. */
  inTitle: string | null;
  boost: number;
  /** Ranked apart from the others; see `padded`. */
  isApart: boolean;
}

const TITLE = 'metadata.title';

function rankedParts(condition: Condition, similar: SimilarWords): RankedPart[] {
  switch (condition.type) {
    case 'bool':
      return [...condition.must, ...condition.should].flatMap((part) => rankedParts(part, similar));
    case 'words':
    case 'prefix': {
      const inTitle = condition.field === null ? tsqueryOf(condition, TITLE) : null;
      return [{ tsquery: tsqueryOf(condition), inTitle, boost: condition.boost, isApart: false }];
    }
    case 'exact': {
      const { boost } = condition;
      return boost === null ? [] : [{ tsquery: tsqueryOf(condition), inTitle: null, boost, isApart: false }];
    }
    case 'fuzzy':
      return similarChunks(condition, similar).map((words) => ({
        ...padded(lexemes(condition.field, words), condition.boost),
        inTitle: condition.field === null ? anyOf(lexemes(TITLE, words)) : null,
        isApart: true,
      }));
    default:
      return [];
  }
}

/**
 * Alternatives, some of which may be words of hidden documents only. `ts_rank` divides by their number, which must not
 * be visible: so their number is a power of two, the others match nothing, and the boost compensates for them, both exactly.
 */
function padded(operands: readonly string[], boost: number): { tsquery: string; boost: number } {
  const count = 2 ** Math.ceil(Math.log2(operands.length));
  const nowhere = Array.from({ length: count - operands.length }, (_, at) => quoteLexeme(`!${at}`));
  return { tsquery: anyOf([...operands, ...nowhere]), boost: boost * count };
}

/** Weights of the classes D, C, B, A; the last argument of ts_rank divides by the logarithm of the length. */
const WEIGHTS = `'{0.1, 0.25, 0.5, 1.0}'`;

function rankSql(parts: readonly RankedPart[], parameters: Parameters): string | null {
  if (parts.length === 0) return null;
  const together = Map.groupBy(
    parts.filter(({ isApart }) => !isApart),
    ({ boost }) => boost,
  );
  const summands = [...together].map(([boost, group]) => ({
    tsquery: group.map(({ tsquery }) => tsquery).join(' | '),
    boost,
  }));
  return [...summands, ...parts.filter(({ isApart }) => isApart)]
    .map(
      ({ tsquery, boost }) =>
        `${parameters.add(boost)}::float8 * ts_rank(${WEIGHTS}, d.terms, ${parameters.add(tsquery)}::tsquery, 1)`,
    )
    .join(' + ');
}

/** Few documents have all parts of longer queries, and each part is one more index lookup. */
const MAX_CANDIDATE_PARTS = 8;

/** Rows with all ranked words, unless all rows must have them, and rows with some of them in their titles. */
function candidatesSql(parts: readonly RankedPart[], query: Fragment, parameters: Parameters): string[] {
  if (parts.length === 0 || parts.length > MAX_CANDIDATE_PARTS) return [];
  const fragments = (tsqueries: readonly string[]) => [...new Set(tsqueries)].map((tsquery) => ({ tsquery }));
  const all = join('&', fragments(parts.map(({ tsquery }) => tsquery)), { parameters });
  const isWholeQuery = 'tsquery' in all && 'tsquery' in query && all.tsquery === query.tsquery;
  const inTitle = fragments(parts.flatMap((part) => part.inTitle ?? []));
  return [
    ...(isWholeQuery ? [] : [all]),
    ...(inTitle.length > 0 ? [join('|', inTitle, { parameters })] : []),
  ].map((part) => asSql(part, parameters));
}
