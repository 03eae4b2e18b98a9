import { edtfBounds } from '@kr/metadata';
import { fieldType } from '../documents/fields.ts';
import {
  allFieldsLexeme,
  existsLexeme,
  fieldLexeme,
  fitsIndex,
  foldText,
  storableText,
  textTokens,
} from '../documents/text-tokens.ts';
import { partialInstant } from './partial-instant.ts';
import { syntaxError, tooComplex } from './query-error.ts';
import type {
  BoolNode,
  FuzzyNode,
  PhraseNode,
  QueryNode,
  RangeBound,
  RangeNode,
  TermNode,
  WildcardNode,
  WildcardPart,
} from './query-tree.ts';

/**
 * A query in the terms of the index, the same for all engines. They only translate it: all decisions about
 * words, values and bounds are made here.
 */
export type Condition =
  | { type: 'all' }
  | { type: 'nothing' }
  | WordsCondition
  | PrefixCondition
  | FuzzyCondition
  | ExactCondition
  | RangeCondition
  | BoolCondition;

/** Words in this order, in one field or in all of them together (null), two words up to `slop` moves apart. */
export interface WordsCondition {
  type: 'words';
  field: string | null;
  words: readonly [string, ...string[]];
  slop: number;
  boost: number;
}

/**
 * The beginning of a word after some words, or of a whole value. `pattern` continues the beginning; null if anything may
 * follow.
 */
export interface PrefixCondition {
  type: 'prefix';
  /** Null for the words of all fields together. */
  field: string | null;
  isText: boolean;
  words: readonly string[];
  prefix: string;
  pattern: readonly WildcardPart[] | null;
  boost: number;
}

/**
 * A word and its similar words: those with the same first character that at most `distance` insertions, deletions and
 * replacements turn into it (Levenshtein, in code points, of folded words; a transposition counts as two).
 */
export interface FuzzyCondition {
  type: 'fuzzy';
  field: string | null;
  word: string;
  /** Zero means the word itself. */
  distance: number;
  boost: number;
}

/** A term of `FieldTerms.exact`. */
export interface ExactCondition {
  type: 'exact';
  lexeme: string;
  /** Null: it does not rank. */
  boost: number | null;
}

export interface Bound<Value> {
  value: Value;
  isInclusive: boolean;
}

/** Values between two bounds; null is open. Does not rank. */
export type RangeCondition =
  | { type: 'instants'; of: 'createdAt' | 'updatedAt'; from: string | null; before: string | null }
  /** Bounds of the last and of the first day of the publication date. */
  | { type: 'days'; lastDay: Bound<string> | null; firstDay: Bound<string> | null }
  | { type: 'versions'; lower: Bound<number> | null; upper: Bound<number> | null }
  /** Words or whole values of one field, by their code points. */
  | {
      type: 'values';
      field: string;
      isText: boolean;
      lower: Bound<string> | null;
      upper: Bound<string> | null;
    };

/** As `BoolNode`: `should` only ranks if there is any `must`. */
export interface BoolCondition {
  type: 'bool';
  must: readonly Condition[];
  should: readonly Condition[];
  mustNot: readonly Condition[];
}

const NOTHING: Condition = { type: 'nothing' };

/** @throws ServiceError `invalid` when a value does not fit its field */
export function queryCondition(query: QueryNode): Condition {
  return toCondition(query) ?? NOTHING;
}

/** Null: the part has no words (a phrase of punctuation), and is omitted. */
function toCondition(node: QueryNode): Condition | null {
  switch (node.type) {
    case 'all':
      return { type: 'all' };
    case 'exists':
      return exactCondition(existsLexeme(node.field), null);
    case 'bool':
      return boolCondition(node);
    case 'range':
      return rangeCondition(node);
    case 'wildcard':
      return wildcardCondition(node);
    case 'fuzzy':
      return fuzzyCondition(node);
    case 'term':
    case 'phrase':
      return node.field !== null && fieldType(node.field) !== 'text'
        ? valueCondition(node.field, node)
        : wordsCondition(node);
  }
}

/** The term of a word in one field, or in all of them together. */
export function lexemeOf(field: string | null, word: string): string {
  return field === null ? allFieldsLexeme(word) : fieldLexeme(field, word);
}

/** No document has a value that does not fit. */
function exactCondition(lexeme: string, boost: number | null): Condition {
  const stored = storableText(lexeme);
  return fitsIndex(stored) ? { type: 'exact', lexeme: stored, boost } : NOTHING;
}

function wordsCondition(node: TermNode | PhraseNode): Condition | null {
  const [first, ...others] = textTokens(node.text);
  if (first === undefined) return null;
  const slop = node.type === 'phrase' ? node.slop : 0;
  if (slop > 0 && others.length > 1) throw tooComplex('"~" takes a phrase of two words', node.position);
  const words = [first, ...others] as const;
  if (!words.every((word) => fitsIndex(lexemeOf(node.field, word)))) return NOTHING;
  return { type: 'words', field: node.field, words, slop, boost: node.boost };
}

/** An exact value of a field that is not text. */
function valueCondition(field: string, { text, boost, position }: TermNode | PhraseNode): Condition {
  const bound: RangeBound = { value: text, isInclusive: true, position };
  const type = fieldType(field);
  if (type === 'instant' || field.endsWith('_range'))
    return rangeCondition({ type: 'range', field, lower: bound, upper: bound, position });
  return exactCondition(fieldLexeme(field, type === 'integer' ? String(wholeNumber(bound)) : text), boost);
}

function wildcardCondition({ field, parts, boost }: WildcardNode): Condition | null {
  const isText = field === null || fieldType(field) === 'text';
  const [first, ...rest] = parts.map((part) =>
    isText && 'literal' in part ? { literal: foldText(part.literal) } : part,
  );
  if (first === undefined || !('literal' in first)) return NOTHING;
  const words = isText ? textTokens(first.literal) : [storableText(first.literal)];
  if (!words.every((word) => fitsIndex(lexemeOf(field, word)))) return NOTHING;
  const prefix = words.pop();
  if (prefix === undefined) return null;
  const isOpen = rest.every((part) => 'any' in part && part.any === 'many');
  return { type: 'prefix', field, isText, words, prefix, pattern: isOpen ? null : rest, boost };
}

function fuzzyCondition({ field, text, distance, boost, position }: FuzzyNode): Condition | null {
  const [word, ...others] = textTokens(text);
  if (field !== null && fieldType(field) !== 'text')
    throw syntaxError(`"~" is for words, the values of ${field} are compared whole: unescaped "~"`, position);
  if (word === undefined) return null;
  if (others.length > 0) throw syntaxError('"~" takes one word', position);
  const length = [...word].length;
  const defaultDistance = length < 6 ? 1 : 2;
  // Words that share next to nothing are not similar.
  const maxDistance = length < 3 ? 0 : length < 5 ? 1 : 2;
  return { type: 'fuzzy', field, word, distance: Math.min(distance ?? defaultDistance, maxDistance), boost };
}

function rangeCondition({ field, lower, upper }: RangeNode): Condition {
  if (lower === null && upper === null) return exactCondition(existsLexeme(field), null);
  switch (fieldType(field)) {
    case 'instant': {
      const [from, before] = [lower && instants(lower), upper && instants(upper)];
      return {
        type: 'instants',
        of: field === 'created' ? 'createdAt' : 'updatedAt',
        from: from && (lower?.isInclusive ? from.start : from.end),
        before: before && (upper?.isInclusive ? before.end : before.start),
      };
    }
    case 'date': {
      const [from, to] = [lower && days(lower), upper && days(upper)];
      // The publication date shares a day with the range.
      return {
        type: 'days',
        lastDay: from && lower && bound(lower, lower.isInclusive ? from.first : from.last),
        firstDay: to && upper && bound(upper, upper.isInclusive ? to.last : to.first),
      };
    }
    case 'integer':
      return {
        type: 'versions',
        lower: lower && bound(lower, wholeNumber(lower)),
        upper: upper && bound(upper, wholeNumber(upper)),
      };
    default: {
      const isText = fieldType(field) === 'text';
      if (!fitsIndex(storableText(existsLexeme(field)))) return NOTHING;
      const foldedValue = ({ value }: RangeBound) => (isText ? foldText(value) : value);
      return {
        type: 'values',
        field,
        isText,
        lower: lower && bound(lower, foldedValue(lower)),
        upper: upper && bound(upper, foldedValue(upper)),
      };
    }
  }
}

function bound<Value>({ isInclusive }: RangeBound, value: Value): Bound<Value> {
  return { value, isInclusive };
}

function instants({ value, position }: RangeBound) {
  const span = partialInstant(value);
  if (span === null) throw syntaxError(`"${value}" is not a date`, position);
  return span;
}

function days({ value, position }: RangeBound) {
  const bounds = edtfBounds(value);
  if (bounds === undefined) throw syntaxError(`"${value}" is not a date`, position);
  return bounds;
}

function wholeNumber({ value, position }: RangeBound): number {
  if (!/^-?\d{1,15}$/u.test(value)) throw syntaxError(`"${value}" is not a whole number`, position);
  return Number(value);
}

/** Omitted parts are left out, and a query of only such parts is omitted. */
function boolCondition(node: BoolNode): Condition | null {
  const all = (nodes: readonly QueryNode[]) => nodes.map(toCondition).filter((part) => part !== null);
  const [must, should, mustNot] = [all(node.must), all(node.should), all(node.mustNot)];
  if (must.length + should.length + mustNot.length === 0) return null;
  if (must.length + should.length === 0 && node.must.length + node.should.length > 0) return NOTHING;
  return { type: 'bool', must, should, mustNot };
}

/** The words with similar ones in a query. */
export function collectFuzzyConditions(condition: Condition): FuzzyCondition[] {
  if (condition.type === 'fuzzy') return [condition];
  if (condition.type !== 'bool') return [];
  return [...condition.must, ...condition.should, ...condition.mustNot].flatMap(collectFuzzyConditions);
}

/** Whether a query may take long: the engine compares each word of the documents with a part of it. */
export function isCostlyQuery(condition: Condition): boolean {
  switch (condition.type) {
    case 'bool':
      return [...condition.must, ...condition.should, ...condition.mustNot].some(isCostlyQuery);
    case 'prefix':
      return condition.pattern !== null;
    default:
      return condition.type === 'values' || condition.type === 'fuzzy';
  }
}
