/** How a field is compared: `text` word by word and folded, `keyword` whole and exact, the others by value. */
export type FieldType = 'text' | 'keyword' | 'instant' | 'date' | 'integer';

/** Rank weight of a field in a search over all of them, heaviest first; null keeps it out of those. */
export type FieldWeight = 'A' | 'B' | 'C' | 'D' | null;

const VALUE_FIELDS: Readonly<Record<string, FieldType>> = {
  created: 'instant',
  updated: 'instant',
  'metadata.publication_date': 'date',
  'metadata.publication_date_range': 'date',
  'versions.index': 'integer',
};

const TEXT_FIELDS = [
  /^metadata\.title$/u,
  /^metadata\.description$/u,
  /^metadata\.publisher$/u,
  /^metadata\.additional_titles\.title$/u,
  /^metadata\.additional_descriptions\.description$/u,
  /^metadata\.(?:creators|contributors)\.person_or_org\.(?:name|given_name|family_name)$/u,
  /^metadata\.(?:creators|contributors)\.affiliations\.name$/u,
  /^metadata\.subjects\.subject$/u,
  /^metadata\.references\.reference$/u,
  /^metadata\.dates\.description$/u,
  /^metadata\.related_identifiers\.(?:title|description)$/u,
  /^metadata\.locations\.features\.(?:place|description)$/u,
  /^metadata\.funding\.funder\.name$/u,
  // One text for each language: metadata.rights.title.en.
  /^metadata\..*\.(?:title|description)\.[a-z]{2,3}$/u,
];

/** Text fields that can also be compared whole, as `<field>.keyword`. */
const KEYWORD_TWINS: ReadonlySet<string> = new Set([
  'metadata.title',
  'metadata.publisher',
  'metadata.subjects.subject',
]);

const HTML_FIELDS: ReadonlySet<string> = new Set([
  'metadata.description',
  'metadata.additional_descriptions.description',
  'metadata.related_identifiers.description',
]);

export function fieldType(field: string): FieldType {
  const known = VALUE_FIELDS[field];
  if (known !== undefined) return known;
  return TEXT_FIELDS.some((pattern) => pattern.test(field)) ? 'text' : 'keyword';
}

export function hasKeywordTwin(field: string): boolean {
  return KEYWORD_TWINS.has(field);
}

export function isHtmlField(field: string): boolean {
  return HTML_FIELDS.has(field);
}

/** Vocabulary matter that would make every entity with the same licence or type match. */
const NOT_IN_ALL = /\.(?:icon|scheme)$|\.props\.|\.rights\.description\./u;

export function fieldWeight(field: string): FieldWeight {
  if (field === 'metadata.title' || field === 'metadata.additional_titles.title') return 'A';
  if (/^metadata\.(?:creators|contributors|subjects)\./u.test(field))
    return NOT_IN_ALL.test(field) ? null : 'B';
  if (/^metadata\.(?:additional_descriptions\.)?description$/u.test(field)) return 'C';
  if (NOT_IN_ALL.test(field)) return null;
  return field === 'id' || field === 'parent.id' || /^(?:metadata|pids)\./u.test(field) ? 'D' : null;
}
