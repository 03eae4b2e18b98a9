import { hash } from 'node:crypto';
import { documentFields, type FieldValue } from './document-fields.ts';
import { type IndexedEntity, SUGGESTION_TYPES, type SuggestionType } from './entity.ts';
import { cachedByField, type FieldWeight, fieldIndexing } from './fields.ts';
import {
  fieldLexeme,
  fitsIndex,
  htmlText,
  MAX_KEYWORD_LENGTH,
  storableText,
  textTokens,
} from './text-tokens.ts';

/** One form of an entity as any engine stores it, without flags. */
export interface IndexRow extends Omit<IndexedEntity, 'suggestions' | 'document' | 'sizeBytes'> {
  suggestions: readonly { type: SuggestionType; value: string; words: readonly string[] }[];
  /** The values of all fields, in document order. */
  terms: readonly FieldTerms[];
  /** Equal for forms with the same searchable content. Independent of the revision. */
  contentHash: string;
}

/** The terms of one value. */
export interface FieldTerms {
  field: string;
  /** Whole values as `=field=value`, and `?field` for the field and its parent fields. */
  exact: readonly string[];
  /** Rank weight of the words in a search over all fields; null excludes them from it. */
  weight: FieldWeight;
  /** Whether the words can be searched in this field alone. */
  isText: boolean;
  words: readonly string[];
}

/** Words per value; a huge value leaves room for the others. */
const MAX_WORDS = 10_000;

/** Builds a row value by value: a large document takes up to a second, and other work may run in between. */
export function* indexRow(entity: IndexedEntity): Generator<void, IndexRow> {
  const { document, sizeBytes: _, suggestions, ...envelope } = entity;
  const fields = documentFields(document);
  const terms: FieldTerms[] = [];
  for (const field of fields) {
    terms.push(fieldTerms(field));
    yield;
  }
  return {
    ...envelope,
    suggestions: SUGGESTION_TYPES.flatMap((type) =>
      suggestions[type].map((value) => ({ type, value: storableText(value), words: textTokens(value) })),
    ),
    terms,
    contentHash: contentHashOf(entity, fields),
  };
}

/** The hash of a row, without tokenizing its texts. */
export function contentHash(entity: IndexedEntity): string {
  return contentHashOf(entity, documentFields(entity.document));
}

function contentHashOf(entity: IndexedEntity, fields: readonly FieldValue[]): string {
  const content = { ...entity, id: '', form: '', revision: '', sizeBytes: 0, document: fields };
  return hash('sha256', JSON.stringify(content), 'base64url');
}

const indexingOf = cachedByField((field) => {
  const { exists, keywordField, ...indexing } = fieldIndexing(field);
  return {
    ...indexing,
    exists: exists.map(storableText).filter(fitsIndex),
    keywordField: keywordField && storableText(keywordField),
  };
});

function fieldTerms({ field, value }: FieldValue): FieldTerms {
  const { exists, weight, isText, isHtml, keywordField } = indexingOf(field);
  const exact = keywordField === undefined ? exists : [...exists, ...keywordLexeme(keywordField, value)];
  if (!isText && weight === null) return { field, exact, weight, isText, words: [] };
  const words = textTokens(isHtml ? htmlText(value) : value).slice(0, MAX_WORDS);
  return { field, exact, weight, isText, words };
}

function keywordLexeme(field: string, value: string): string[] {
  const keyword = storableText(value);
  if (keyword === '' || keyword.length > MAX_KEYWORD_LENGTH) return [];
  return [fieldLexeme(field, keyword)].filter(fitsIndex);
}
