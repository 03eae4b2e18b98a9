import { documentFields } from '../../index/document-fields.ts';
import { type FieldIndexing, type FieldWeight, fieldIndexing, keptByField } from '../../index/fields.ts';
import {
  fieldLexeme,
  fitsIndex,
  htmlText,
  LONGEST_KEYWORD,
  storableText,
  textTokens,
} from '../../index/text-tokens.ts';
import {
  type EntityForm,
  type EntityKind,
  type IndexedEntity,
  SUGGESTION_TYPES,
  type Tombstone,
} from '../search-engine.ts';

/** Instants as microseconds since 1970 in decimal text: beyond 2255 they are no exact numbers of JavaScript. */
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

/** The whitespace tokenizer cuts what is longer. */
const LONGEST_WORD = 255;

/**
 * Characters that separate words for the tokenizer; no word contains them, but a field name of an uploader
 * may.
 */
const BLANKS = /[\s\p{Cc}]/gu;

/** A word of one field, as documents and queries name it. */
export function fieldWord(field: string, word: string): string {
  return fieldLexeme(storableText(field).replace(BLANKS, '\u0001'), word);
}

export function fitsWord(word: string): boolean {
  return word.length <= LONGEST_WORD;
}

/** Of one value, so that a huge one leaves room for the others. */
const MOST_WORDS = 10_000;

export type WordClass = 'a' | 'b' | 'c' | 'd';

/**
 * The searchable content of a document. Each text is one value's words separated by blanks; no phrase spans
 * two.
 */
export interface DocumentTerms {
  words: Record<WordClass, string[]>;
  /** Words as `=field=word`. */
  fieldWords: string[];
  /** Whole values as `=field=value`, and `?field` for every field there is. */
  exact: string[];
}

const CLASSES: Readonly<Record<NonNullable<FieldWeight>, WordClass>> = { A: 'a', B: 'b', C: 'c', D: 'd' };

interface TermsIndexing extends FieldIndexing {
  wordClass: WordClass | undefined;
  /** Before each word of the field. */
  wordPrefix: string;
}

const indexingOf = keptByField((field): TermsIndexing => {
  const { exists, weight, keywordField, ...indexing } = fieldIndexing(field);
  return {
    ...indexing,
    weight,
    exists: exists.map(storableText),
    keywordField: keywordField && storableText(keywordField),
    wordClass: weight === null ? undefined : CLASSES[weight],
    wordPrefix: fieldWord(field, ''),
  };
});

function documentTerms(document: Readonly<Record<string, unknown>>): DocumentTerms {
  const words: DocumentTerms['words'] = { a: [], b: [], c: [], d: [] };
  const fieldWords: string[] = [];
  const exact = new Set<string>();
  for (const { field, value } of documentFields(document)) {
    const { exists, isText, isHtml, keywordField, wordClass, wordPrefix } = indexingOf(field);
    for (const lexeme of exists) exact.add(lexeme);
    if (keywordField !== undefined) {
      const keyword = storableText(value);
      if (keyword !== '' && keyword.length <= LONGEST_KEYWORD) exact.add(fieldLexeme(keywordField, keyword));
    }
    if (!isText && wordClass === undefined) continue;
    const tokens = textTokens(isHtml ? htmlText(value) : value).slice(0, MOST_WORDS);
    if (tokens.length === 0) continue;
    if (wordClass !== undefined) words[wordClass].push(tokens.join(' '));
    if (isText) fieldWords.push(wordsOf(tokens, wordPrefix));
  }
  return { words, fieldWords, exact: [...exact].filter(fitsIndex) };
}

function wordsOf(tokens: readonly string[], prefix: string): string {
  return tokens
    .map((token) => prefix + token)
    .filter(fitsWord)
    .join(' ');
}

/** The searchable form, without values derived from other documents. */
export interface StoredContent extends DocumentTerms {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parentId: string;
  managedBy: string | null;
  ownerId: string;
  recordAccess: IndexedEntity['recordAccess'];
  /** Microseconds, as the other instants, in decimal text. */
  embargoUntil: string | null;
  versionIndex: number;
  createdAt: string;
  updatedAt: string;
  revision: string;
  publicationFrom: number | null;
  publicationTo: number | null;
  /** By facet; the inner values of a nested one under `<facet>::`, still as `outer::inner`. */
  facets: Record<string, string[]>;
  boxes: IndexedEntity['boxes'];
  suggestions: { type: string; words: string; value: string }[];
}

/** A form that is gone. */
export interface StoredMark extends Pick<StoredContent, 'id' | 'form' | 'kind' | 'parentId' | 'revision'> {
  /** Milliseconds. */
  buriedAt: number;
}

/** Values derived from the live forms of the same parent, and whether it may be shown. */
export interface StoredFlags {
  isLive: boolean;
  isAnnounced: boolean;
  isLatest: boolean;
  isLatestDraft: boolean;
  hasDraft: boolean;
}

export function documentId({ id, form }: { id: string; form: EntityForm }): string {
  return `${form}:${id}`;
}

export function storedContent(entity: IndexedEntity): StoredContent {
  const { id, form, kind, parentId, managedBy, ownerId, recordAccess, versionIndex, revision, boxes } =
    entity;
  return {
    id,
    form,
    kind,
    parentId,
    managedBy,
    ownerId,
    recordAccess,
    embargoUntil: entity.embargoUntil === null ? null : microsOf(entity.embargoUntil),
    versionIndex,
    createdAt: microsOf(entity.createdAt),
    updatedAt: microsOf(entity.updatedAt),
    revision,
    publicationFrom: entity.publicationFrom === null ? null : dayNumber(entity.publicationFrom),
    publicationTo: entity.publicationTo === null ? null : dayNumber(entity.publicationTo),
    facets: storedFacets(entity.facets),
    boxes: boxes.map(({ west, south, east, north }) => ({ west, south, east, north })),
    suggestions: SUGGESTION_TYPES.flatMap((type) =>
      entity.suggestions[type].map((value) => ({
        type,
        words: textTokens(value).join(' '),
        value: storableText(value),
      })),
    ),
    ...documentTerms(entity.document),
  };
}

export function storedMark({ id, form, kind, parentId, revision }: Tombstone, now: Date): StoredMark {
  return { id, form, kind, parentId, revision, buriedAt: now.getTime() };
}

/** The facet that has values within values. */
export const NESTED_FACET = 'resource_type';

export const innerFacet = (facet: string): string => `${facet}::`;

function storedFacets(facets: IndexedEntity['facets']): Record<string, string[]> {
  const stored: Record<string, string[]> = {};
  for (const [facet, values] of Object.entries(facets)) {
    for (const value of values) {
      const name = isInner(facet, value) ? innerFacet(facet) : facet;
      stored[name] ??= [];
      stored[name].push(storableText(value));
    }
  }
  return stored;
}

/** Whether a value of a facet is one within another: `outer::inner`. */
export function isInner(facet: string, value: string): boolean {
  return facet === NESTED_FACET && value.includes('::');
}
