import type { IndexedEntity } from '../../documents/entity.ts';
import type { FieldWeight } from '../../documents/fields.ts';
import { cachedByField } from '../../documents/fields.ts';
import type { IndexRow } from '../../documents/index-row.ts';
import { fieldLexeme, storableText } from '../../documents/text-tokens.ts';
import type { Head } from '../search-engine.ts';
import { nestedValue } from '../search-rules.ts';

/** Instants as microseconds since 1970 in decimal text: after 2255 JavaScript numbers are not exact. */
export function microsOf(instant: string): string {
  if (instant === 'infinity') return '9223372036854775807';
  const [seconds = '', fraction = ''] = instant.replace(/Z$/u, '').split('.');
  return String(BigInt(Date.parse(`${seconds}Z`)) * 1_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0')));
}

/** ISO 8601 in UTC with microseconds. */
export function instantOf(micros: string): string {
  const all = BigInt(micros);
  const fraction = ((all % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((all - fraction) / 1_000n)).toISOString().slice(0, -5);
  return `${seconds}.${String(fraction).padStart(6, '0')}Z`;
}

/** A day as a number that grows with it. Days of the year 0 are all the same. */
export function dayNumber(day: string): number {
  return day.startsWith('0000') ? 0 : Number(day.replaceAll('-', ''));
}

/** The whitespace tokenizer cuts longer words. */
const MAX_WORD_LENGTH = 255;

/** Characters that separate words for the tokenizer. No word contains them, but an uploader's field name may. */
const BLANKS = /[\s\p{Cc}]/gu;

/** A word of one field, as documents and queries name it. */
export function fieldWord(field: string, word: string): string {
  return fieldLexeme(storableText(field).replace(BLANKS, '\u0001'), word);
}

const wordPrefixOf = cachedByField((field) => fieldWord(field, ''));

export function fitsWord(word: string): boolean {
  return word.length <= MAX_WORD_LENGTH;
}

export type WordClass = 'a' | 'b' | 'c' | 'd';

const CLASSES: Readonly<Record<NonNullable<FieldWeight>, WordClass>> = { A: 'a', B: 'b', C: 'c', D: 'd' };

/** The searchable terms of a document. Each text is one value's words separated by blanks; no phrase spans two. */
interface StoredTerms {
  words: Record<WordClass, string[]>;
  /** Words as `=field=word`. */
  fieldWords: string[];
  /** As `FieldTerms.exact`. */
  exact: string[];
}

function storedTerms(terms: IndexRow['terms']): StoredTerms {
  const words: StoredTerms['words'] = { a: [], b: [], c: [], d: [] };
  const fieldWords: string[] = [];
  for (const { field, weight, isText, words: tokens } of terms) {
    if (tokens.length === 0) continue;
    if (weight !== null) words[CLASSES[weight]].push(tokens.join(' '));
    if (isText) fieldWords.push(wordsOfField(field, tokens));
  }
  return { words, fieldWords, exact: [...new Set(terms.flatMap(({ exact }) => exact))] };
}

function wordsOfField(field: string, tokens: readonly string[]): string {
  const prefix = wordPrefixOf(field);
  return tokens
    .map((token) => prefix + token)
    .filter(fitsWord)
    .join(' ');
}

/** The content of a form, without flags. */
export interface StoredContent
  extends StoredTerms,
    Pick<Head, 'id' | 'form' | 'kind' | 'parentId' | 'revision' | 'versionIndex' | 'contentHash'> {
  managedBy: string | null;
  ownerId: string;
  recordAccess: IndexedEntity['recordAccess'];
  /** Microseconds, as the other instants, in decimal text. */
  embargoUntil: string | null;
  createdAt: string;
  updatedAt: string;
  publicationFrom: number | null;
  publicationTo: number | null;
  /** By facet; the inner values of a nested one under `<facet>::`, still as `outer::inner`. */
  facets: Record<string, string[]>;
  boxes: IndexedEntity['boxes'];
  suggestions: { type: string; words: string; value: string }[];
}

export function* encodeRow(row: IndexRow): Generator<void, StoredContent> {
  const { terms, facets, suggestions, ...envelope } = row;
  return {
    ...envelope,
    embargoUntil: row.embargoUntil === null ? null : microsOf(row.embargoUntil),
    createdAt: microsOf(row.createdAt),
    updatedAt: microsOf(row.updatedAt),
    publicationFrom: row.publicationFrom === null ? null : dayNumber(row.publicationFrom),
    publicationTo: row.publicationTo === null ? null : dayNumber(row.publicationTo),
    facets: storedFacets(facets),
    suggestions: suggestions.map(({ type, value, words }) => ({ type, words: words.join(' '), value })),
    ...storedTerms(terms),
  };
}

export const innerFacet = (facet: string): string => `${facet}::`;

/** The name under which a value of a facet is stored. */
export function facetName(facet: string, value: string): string {
  return nestedValue(facet, value) === null ? facet : innerFacet(facet);
}

function storedFacets(facets: IndexedEntity['facets']): Record<string, string[]> {
  const stored: Record<string, string[]> = {};
  for (const [facet, values] of Object.entries(facets)) {
    for (const value of values) {
      const name = facetName(facet, value);
      stored[name] ??= [];
      stored[name].push(storableText(value));
    }
  }
  return stored;
}
