import { metadataSearchFields, type SearchField } from '@kr/metadata';
import { existsLexeme } from './text-tokens.ts';

/** How a field is compared: `text` word by word and folded, `keyword` whole and exact, the others by value. */
export type FieldType = 'text' | 'keyword' | 'instant' | 'date' | 'integer';

/** Rank weight of a field in a search over all of them, heaviest first; null excludes it from those. */
export type FieldWeight = 'A' | 'B' | 'C' | 'D' | null;

/** The metadata fields of the one schema; the others of the envelope are whole values but for these. */
const METADATA_FIELDS = metadataSearchFields();
const VALUE_FIELDS: Readonly<Record<string, FieldType>> = {
  created: 'instant',
  updated: 'instant',
  'metadata.publication_date_range': 'date',
  'versions.index': 'integer',
};

/** Text fields that can also be compared whole, as `<field>.keyword`. */
const KEYWORD_TWINS: ReadonlySet<string> = new Set([
  'metadata.title',
  'metadata.publisher',
  'metadata.subjects.subject',
]);

export function fieldType(field: string): FieldType {
  const type = VALUE_FIELDS[field] ?? metadataField(field)?.type ?? 'keyword';
  // Of all dates in the metadata only the publication date is compared by its days.
  return type === 'date' && !field.startsWith('metadata.publication_date') ? 'keyword' : type;
}

/** A text by language is found under `*`: `metadata.rights.title.en`. */
function metadataField(field: string): SearchField | undefined {
  return METADATA_FIELDS.get(field) ?? METADATA_FIELDS.get(field.replace(/\.[^.]+$/u, '.*'));
}

function hasKeywordTwin(field: string): boolean {
  return KEYWORD_TWINS.has(field);
}

function isHtmlField(field: string): boolean {
  return metadataField(field)?.isHtml ?? false;
}

/** Vocabulary matter that would make every entity with the same licence or type match. */
const NOT_IN_ALL = /\.(?:icon|scheme)$|\.props\.|\.rights\.description\./u;

function fieldWeight(field: string): FieldWeight {
  if (field === 'metadata.title' || field === 'metadata.additional_titles.title') return 'A';
  if (/^metadata\.(?:creators|contributors|subjects)\./u.test(field))
    return NOT_IN_ALL.test(field) ? null : 'B';
  if (/^metadata\.(?:additional_descriptions\.)?description$/u.test(field)) return 'C';
  if (NOT_IN_ALL.test(field)) return null;
  return field === 'id' || field === 'parent.id' || /^(?:metadata|pids)\./u.test(field) ? 'D' : null;
}

/** How the values of one field are indexed. */
export interface FieldIndexing {
  /** The lexemes of `a.b.c`, `a.b` and `a`. */
  exists: readonly string[];
  weight: FieldWeight;
  isText: boolean;
  isHtml: boolean;
  /** The field of the whole value; undefined if there is none. */
  keywordField: string | undefined;
}

export function fieldIndexing(field: string): FieldIndexing {
  const isText = fieldType(field) === 'text';
  return {
    exists: pathPrefixes(field).map(existsLexeme),
    weight: fieldWeight(field),
    isText,
    isHtml: isHtmlField(field),
    keywordField: isText ? (hasKeywordTwin(field) ? `${field}.keyword` : undefined) : field,
  };
}

/** `a.b.c` → `a.b.c`, `a.b`, `a`. */
function pathPrefixes(field: string): string[] {
  const parts = field.split('.');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('.'));
}

/** Documents have some hundred fields, nearly all of them the same. Further fields are not cached. */
const MAX_CACHED = 1_000;

/** Caches a function of a field. */
export function cachedByField<Result>(compute: (field: string) => Result): (field: string) => Result {
  const cache = new Map<string, Result>();
  return (field) => {
    const cached = cache.get(field);
    if (cached !== undefined) return cached;
    const result = compute(field);
    if (cache.size < MAX_CACHED) cache.set(field, result);
    return result;
  };
}
