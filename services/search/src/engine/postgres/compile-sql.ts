import { edtfBounds } from '@kr/metadata';
import { fieldType } from '../../documents/fields.ts';
import {
  allFieldsLexeme,
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
import { Parameters, quoteLexeme } from './parameters.ts';
import type { SimilarWords } from './similar-words.ts';

export interface CompiledQuery {
  /** A condition on the columns of `index_document`, aliased `d`. */
  where: string;
  /** A number that grows with how well the row fits; null when nothing in the query ranks. Adds parameters. */
  rank: () => string | null;
  /** Conditions on the same columns, of rows that are likely to rank high; none where that costs too much. Add parameters. */
  likely: () => string[];
}

/**
 * Compiles a query to SQL; values go into `parameters` only. Conditions that fit into one tsquery are combined, so that one index
 * scan answers them.
 * @param similar the expansions of the words with `~` in the query, of `similarWords`
 * @throws ServiceError `invalid` when a value does not fit its field
 */
export function compileSql(query: QueryNode, parameters: Parameters, similar: SimilarWords): CompiledQuery {
  const leaves: RankLeaf[] = [];
  const fragment = compileNode(query, { parameters, leaves, ranks: true, similar }) ?? NOTHING;
  return {
    where: asSql(fragment, parameters),
    rank: () => rankSql(leaves, parameters),
    likely: () => likelySql(leaves, fragment, parameters),
  };
}

/** Either a tsquery literal or a SQL condition. */
type Fragment = { tsquery: string } | { sql: string };
const NOTHING: Fragment = { sql: 'false' };
const EVERYTHING: Fragment = { sql: 'true' };

interface RankLeaf {
  tsquery: string;
  /** The same in the title alone, which has the highest weight; null for conditions on one field. */
  inTitle: string | null;
  boost: number;
  /** Ranked apart from the others; see `padded`. */
  isApart?: boolean;
}

interface Compilation {
  parameters: Parameters;
  leaves: RankLeaf[];
  /** Whether matches of this part speak for the document. */
  ranks: boolean;
  similar: SimilarWords;
}

/** Null: the part has no words (a phrase of punctuation), and is omitted. */
function compileNode(node: QueryNode, at: Compilation): Fragment | null {
  switch (node.type) {
    case 'all':
      return EVERYTHING;
    case 'exists':
      return exact(existsLexeme(node.field));
    case 'bool':
      return compileBool(node, at);
    case 'range':
      return compileRange(node, at.parameters);
    case 'wildcard':
      return compileWildcard(node, at);
    case 'fuzzy':
      return compileFuzzy(node, at);
    case 'term':
    case 'phrase': {
      const slop = node.type === 'phrase' ? node.slop : 0;
      if (node.field !== null && fieldType(node.field) !== 'text') {
        return compileValue(node.field, node, at);
      }
      const tokens = textTokens(node.text);
      if (tokens.length === 0) return null;
      if (!tokens.every((token) => fitsIndex(lexemeOf(node.field, token)))) return NOTHING;
      const phraseIn = (field: string | null) =>
        phrase(
          tokens.map((token) => quoteLexeme(lexemeOf(field, token))),
          slop,
          node.position,
        );
      return ranked(phraseIn, node, at);
    }
  }
}

function lexemeOf(field: string | null, token: string): string {
  return field === null ? allFieldsLexeme(token) : fieldLexeme(field, token);
}

const TITLE = 'metadata.title';

interface Ranking {
  field: string | null;
  boost: number;
}

function ranked(
  tsqueryIn: (field: string | null) => string,
  { field, boost }: Ranking,
  at: Compilation,
): Fragment {
  const tsquery = tsqueryIn(field);
  if (at.ranks) at.leaves.push({ tsquery, inTitle: field === null ? tsqueryIn(TITLE) : null, boost });
  return { tsquery };
}

function phrase(lexemes: readonly string[], slop: number, position: number): string {
  if (slop === 0 || lexemes.length === 1)
    return lexemes.length === 1 ? lexemes.join('') : `(${lexemes.join(' <-> ')})`;
  const [first, second, ...others] = lexemes;
  if (first === undefined || second === undefined || others.length > 0) {
    throw tooComplex('"~" takes a phrase of two words', position);
  }
  const forth = distances(1, slop + 1).map((distance) => `${first} <${distance}> ${second}`);
  // Changing places takes two moves.
  const back = distances(1, slop - 1).map((distance) => `${second} <${distance}> ${first}`);
  return `(${[...forth, ...back].map((pair) => `(${pair})`).join(' | ')})`;
}

function distances(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** A value that no lexeme can have is not searched. */
function exact(lexeme: string): Fragment {
  const text = storableText(lexeme);
  return fitsIndex(text) ? { tsquery: quoteLexeme(text) } : NOTHING;
}

/** An exact value of a field that is not text. */
function compileValue(
  field: string,
  { text, boost, position }: TermNode | PhraseNode,
  at: Compilation,
): Fragment {
  const bound: RangeBound = { value: text, isInclusive: true, position };
  const type = fieldType(field);
  if (type === 'instant' || field.endsWith('_range')) {
    return compileRange({ type: 'range', field, lower: bound, upper: bound, position }, at.parameters);
  }
  const found = exact(fieldLexeme(field, type === 'integer' ? String(wholeNumber(bound)) : text));
  return 'tsquery' in found ? ranked(() => found.tsquery, { field, boost }, at) : found;
}

function compileWildcard(node: WildcardNode, at: Compilation): Fragment | null {
  const isText = node.field === null || fieldType(node.field) === 'text';
  const [first, ...rest] = node.parts.map((part) =>
    isText && 'literal' in part ? { literal: foldText(part.literal) } : part,
  );
  if (first === undefined || !('literal' in first)) return NOTHING;

  const words = isText ? textTokens(first.literal) : [first.literal];
  const last = words.pop();
  if (last === undefined) return null;
  const prefix = storableText(lexemeOf(node.field, last));
  if (![...words.map((word) => lexemeOf(node.field, word)), prefix].every(fitsIndex)) return NOTHING;
  const isPrefixOnly = rest.every((part) => 'any' in part && part.any === 'many');
  const beginningIn = (field: string | null) => {
    const before = words.map((word) => quoteLexeme(lexemeOf(field, word)));
    return phrase([...before, `${quoteLexeme(storableText(lexemeOf(field, last)))}:*`], 0, node.position);
  };
  const beginning = ranked(beginningIn, node, at);
  if (isPrefixOnly) return beginning;

  const pattern = [{ literal: prefix }, ...rest]
    .map((part) =>
      'literal' in part ? part.literal.replace(/[\\%_]/gu, '\\$&') : part.any === 'many' ? '%' : '_',
    )
    .join('');
  const { parameters } = at;
  return {
    sql:
      `(${asSql(beginning, parameters)}` +
      ` AND EXISTS (SELECT FROM unnest(d.terms) AS t WHERE t.lexeme LIKE ${parameters.add(pattern)}))`,
  };
}

function compileFuzzy(node: FuzzyNode, at: Compilation): Fragment | null {
  const words = at.similar.get(node);
  if (words === undefined) return null;
  const fitting = words.filter((word) => fitsIndex(lexemeOf(node.field, word)));
  const parts = chunksOf(fitting, MOST_ALTERNATIVES).map((chunk): Fragment => {
    const lexemesIn = (field: string | null) => chunk.map((word) => quoteLexeme(lexemeOf(field, word)));
    const { operands, boost } = padded(lexemesIn(node.field), node.boost);
    const inTitle = node.field === null ? `(${lexemesIn(TITLE).join(' | ')})` : null;
    if (at.ranks) at.leaves.push({ tsquery: `(${operands.join(' | ')})`, inTitle, boost, isApart: true });
    return { tsquery: `(${lexemesIn(node.field).join(' | ')})` };
  });
  const [only = NOTHING, ...others] = parts;
  if (others.length === 0) return only;
  return { sql: `(${parts.map((part) => asSql(part, at.parameters)).join(' OR ')})` };
}

/** In one tsquery, which is limited in size and searched recursively. */
const MOST_ALTERNATIVES = 256;

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}

/**
 * Alternatives of which some may be words of hidden documents only. `ts_rank` divides by their number, which must not
 * be visible: so their number is a power of two, the others match nothing, and the boost compensates for them, both exactly.
 */
function padded(operands: readonly string[], boost: number): { operands: string[]; boost: number } {
  const count = 2 ** Math.ceil(Math.log2(operands.length));
  const nowhere = Array.from({ length: count - operands.length }, (_, at) => quoteLexeme(`!${at}`));
  return { operands: [...operands, ...nowhere], boost: boost * count };
}

function compileRange({ field, lower, upper }: RangeNode, parameters: Parameters): Fragment {
  if (lower === null && upper === null) return exact(existsLexeme(field));
  switch (fieldType(field)) {
    case 'instant':
      return instantRange(field === 'created' ? 'd.created_at' : 'd.updated_at', lower, upper, parameters);
    case 'date':
      return dateRange(lower, upper, parameters);
    case 'integer':
      return integerRange(lower, upper, parameters);
    default:
      return lexemeRange(field, lower, upper, parameters);
  }
}

function instantRange(
  column: string,
  lower: RangeBound | null,
  upper: RangeBound | null,
  parameters: Parameters,
): Fragment {
  const conditions: string[] = [];
  if (lower) {
    const { start, end } = instantSpan(lower);
    conditions.push(`${column} >= ${parameters.add(lower.isInclusive ? start : end)}::timestamptz`);
  }
  if (upper) {
    const { start, end } = instantSpan(upper);
    conditions.push(`${column} < ${parameters.add(upper.isInclusive ? end : start)}::timestamptz`);
  }
  return { sql: `(${conditions.join(' AND ')})` };
}

function instantSpan(bound: RangeBound) {
  const span = partialInstant(bound.value);
  if (span === null) throw syntaxError(`"${bound.value}" is not a date`, bound.position);
  return span;
}

/** Documents whose publication dates share a day with the range. */
function dateRange(lower: RangeBound | null, upper: RangeBound | null, parameters: Parameters): Fragment {
  const conditions: string[] = [];
  if (lower) {
    const { first, last } = days(lower);
    conditions.push(
      lower.isInclusive
        ? `d.publication_to >= ${parameters.add(first)}::date`
        : `d.publication_to > ${parameters.add(last)}::date`,
    );
  }
  if (upper) {
    const { first, last } = days(upper);
    conditions.push(
      upper.isInclusive
        ? `d.publication_from <= ${parameters.add(last)}::date`
        : `d.publication_from < ${parameters.add(first)}::date`,
    );
  }
  return { sql: `coalesce(${conditions.join(' AND ')}, false)` };
}

function days(bound: RangeBound): { first: string; last: string } {
  const bounds = edtfBounds(bound.value);
  if (bounds === undefined) throw syntaxError(`"${bound.value}" is not a date`, bound.position);
  return { first: sqlDate(bounds.first), last: sqlDate(bounds.last) };
}

/** SQL has no year 0. */
export function sqlDate(day: string): string {
  return day.startsWith('0000') ? '-infinity' : day;
}

function integerRange(lower: RangeBound | null, upper: RangeBound | null, parameters: Parameters): Fragment {
  const conditions: string[] = [];
  if (lower) {
    conditions.push(
      `d.version_index ${lower.isInclusive ? '>=' : '>'} ${parameters.add(wholeNumber(lower))}::bigint`,
    );
  }
  if (upper) {
    conditions.push(
      `d.version_index ${upper.isInclusive ? '<=' : '<'} ${parameters.add(wholeNumber(upper))}::bigint`,
    );
  }
  return { sql: `(${conditions.join(' AND ')})` };
}

function wholeNumber({ value, position }: RangeBound): number {
  if (!/^-?\d{1,15}$/u.test(value)) throw syntaxError(`"${value}" is not a whole number`, position);
  return Number(value);
}

/** Values between two others by their code points. */
function lexemeRange(
  field: string,
  lower: RangeBound | null,
  upper: RangeBound | null,
  parameters: Parameters,
): Fragment {
  const hasField = exact(existsLexeme(field));
  if ('sql' in hasField) return hasField;
  const isText = fieldType(field) === 'text';
  const bound = ({ value }: RangeBound) =>
    parameters.add(fieldLexeme(field, isText ? foldText(value) : value));
  const conditions = [`starts_with(t.lexeme, ${parameters.add(fieldLexeme(field, ''))})`];
  if (lower) conditions.push(`t.lexeme COLLATE "C" ${lower.isInclusive ? '>=' : '>'} ${bound(lower)}`);
  if (upper) conditions.push(`t.lexeme COLLATE "C" ${upper.isInclusive ? '<=' : '<'} ${bound(upper)}`);
  return {
    sql:
      `(${asSql(hasField, parameters)}` +
      ` AND EXISTS (SELECT FROM unnest(d.terms) AS t WHERE ${conditions.join(' AND ')}))`,
  };
}

function compileBool(node: BoolNode, at: Compilation): Fragment | null {
  const compile = (nodes: readonly QueryNode[], change: Partial<Compilation> = {}) =>
    nodes.map((inner) => compileNode(inner, { ...at, ...change })).filter((part) => part !== null);
  const must = compile(node.must);
  // Optional parts of a query with necessary ones only rank: the values of their conditions go nowhere, for a
  // statement must not be given values that it does not name.
  const should = compile(node.should, must.length > 0 ? { parameters: new Parameters('') } : {});
  const isImpossible = must.length + should.length === 0 && node.must.length + node.should.length > 0;
  const mustNot = compile(node.mustNot, {
    ranks: false,
    ...(isImpossible ? { parameters: new Parameters('') } : {}),
  });
  if (must.length + mustNot.length + should.length === 0) return null;

  const needed = must.length > 0 ? must : should.length > 0 ? [join('|', should, at.parameters)] : [];
  if (isImpossible) return NOTHING;
  return join('&', [...needed, ...mustNot.map((part) => negate(part, at.parameters))], at.parameters);
}

function join(operator: '&' | '|', parts: readonly Fragment[], parameters: Parameters): Fragment {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const literals = parts.flatMap((part) => ('tsquery' in part ? [part.tsquery] : []));
  const conditions = parts.flatMap((part) => ('sql' in part ? [part.sql] : []));
  const merged = literals.length === 0 ? [] : [{ tsquery: `(${literals.join(` ${operator} `)})` }];
  if (conditions.length === 0 && merged[0]) return merged[0];
  const all = [...merged.map((part) => asSql(part, parameters)), ...conditions];
  return { sql: `(${all.join(operator === '&' ? ' AND ' : ' OR ')})` };
}

function negate(part: Fragment, parameters: Parameters): Fragment {
  // A negation inside a tsquery would also negate the match of a phrase's position, so it stays outside of it.
  return { sql: `NOT ${asSql(part, parameters)}` };
}

function asSql(part: Fragment, parameters: Parameters): string {
  return 'sql' in part ? part.sql : `d.terms @@ ${parameters.add(part.tsquery)}::tsquery`;
}

/** Weights of the classes D, C, B, A; the last argument of ts_rank divides by the logarithm of the length. */
const WEIGHTS = `'{0.1, 0.25, 0.5, 1.0}'`;

function rankSql(leaves: readonly RankLeaf[], parameters: Parameters): string | null {
  if (leaves.length === 0) return null;
  const together = Map.groupBy(
    leaves.filter(({ isApart }) => isApart !== true),
    ({ boost }) => boost,
  );
  const summands = [...together].map(([boost, group]) => ({
    tsquery: group.map(({ tsquery }) => tsquery).join(' | '),
    boost,
  }));
  return [...summands, ...leaves.filter(({ isApart }) => isApart === true)]
    .map(
      ({ tsquery, boost }) =>
        `${parameters.add(boost)}::float8 * ts_rank(${WEIGHTS}, d.terms, ${parameters.add(tsquery)}::tsquery, 1)`,
    )
    .join(' + ');
}

/** Of more parts hardly a document has all, and each is looked up once more. */
const MOST_LIKELY = 8;

/** Rows with all ranked words, unless all rows must have them, and rows with some of them in their titles. */
function likelySql(leaves: readonly RankLeaf[], asked: Fragment, parameters: Parameters): string[] {
  if (leaves.length > MOST_LIKELY) return [];
  const parts = (tsqueries: readonly string[]) => [...new Set(tsqueries)].map((tsquery) => ({ tsquery }));
  const all = join('&', parts(leaves.map(({ tsquery }) => tsquery)), parameters);
  const isAsked = 'tsquery' in all && 'tsquery' in asked && all.tsquery === asked.tsquery;
  const inTitle = parts(leaves.flatMap((leaf) => leaf.inTitle ?? []));
  return [...(isAsked ? [] : [all]), ...(inTitle.length > 0 ? [join('|', inTitle, parameters)] : [])].map(
    (part) => asSql(part, parameters),
  );
}
