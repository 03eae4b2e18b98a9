/**
 * How documents and queries name the same thing in the `terms` column. Words hold only letters, digits, marks, `_`,
 * `.`, `,` and `'`, so the leading sign keeps the kinds apart, also for prefix searches.
 */
export const allFieldsLexeme = (token: string): string => token;

/** Long texts would otherwise be mostly the names of their fields. */
const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ['metadata.title', 't'],
  ['metadata.description', 'd'],
  ['metadata.additional_descriptions.description', 'a'],
  ['metadata.related_identifiers.description', 'r'],
  ['metadata.references.reference', 'f'],
]);

export function fieldLexeme(field: string, value: string): string {
  const short = SHORT_NAMES.get(field);
  return short === undefined ? `=${field}=${value}` : `#${short}=${value}`;
}

export const existsLexeme = (field: string): string => `?${field}`;

/** Longest value of a keyword field that can be searched for; longer ones are only found by their field. */
export const LONGEST_KEYWORD = 256;

/** Postgres takes no lexeme of 2 KiB or more. */
const LONGEST_LEXEME_BYTES = 2_000;

export function fitsIndex(lexeme: string): boolean {
  // No character of a text takes more than three bytes for each of its code units.
  return lexeme.length <= LONGEST_LEXEME_BYTES / 3 || Buffer.byteLength(lexeme) <= LONGEST_LEXEME_BYTES;
}
