/** Without NUL and halves of surrogate pairs, which Postgres cannot store: both engines omit them. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

/**
 * The prefixes of terms in the `terms` column, for documents and queries. Words consist of letters, digits, marks, `_`,
 * `.`, `,` and `'`, so the leading sign separates the kinds, also for prefix searches.
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

/** Longer values of keyword fields cannot be searched, only their field. */
export const MAX_KEYWORD_LENGTH = 256;

/** Postgres rejects lexemes of 2 KiB and more. */
const MAX_LEXEME_BYTES = 2_000;

export function fitsIndex(lexeme: string): boolean {
  // A UTF-16 code unit has at most three bytes in UTF-8.
  return lexeme.length <= MAX_LEXEME_BYTES / 3 || Buffer.byteLength(lexeme) <= MAX_LEXEME_BYTES;
}

const DIACRITICS = /[\u0300-\u036f]/gu;
/** Letters that decomposition leaves as they are. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ı: 'i',
  þ: 'th',
  '’': "'",
};
const SPECIAL_LETTERS = /[ßæœøđðłıþ’]/gu;

const ASCII = /^[\0-\x7f]*$/u;

/** Lower case without accents, for comparisons of words. */
export function foldText(text: string): string {
  // Most texts are ASCII, and the rest of this function is slow.
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .toWellFormed()
    .normalize('NFKD')
    .replace(DIACRITICS, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(SPECIAL_LETTERS, (letter) => LETTERS[letter] ?? letter);
}

/**
 * Words approximately as in Unicode text segmentation (UAX 29): letters and digits, a dot or an apostrophe
 * between letters, a dot or a comma between digits. Each Han or Hiragana character is a separate word.
 */
const WORD =
  /[\p{sc=Han}\p{sc=Hiragana}]|[[\p{L}\p{N}\p{M}_]--[\p{sc=Han}\p{sc=Hiragana}]]+(?:(?:(?<=\p{L})['.](?=\p{L})|(?<=\p{N})[.,](?=\p{N}))[[\p{L}\p{N}\p{M}_]--[\p{sc=Han}\p{sc=Hiragana}]]+)*/gv;

/** Longer words are cut, in documents and in queries alike. */
const MAX_TOKEN_LENGTH = 200;

/** The words of a text, folded, in order: the same for documents and for queries. */
export function textTokens(text: string): string[] {
  return (foldText(text).match(WORD) ?? []).map((token) => token.slice(0, MAX_TOKEN_LENGTH).toWellFormed());
}

const TAG = /<[^<>]*>/gu;
const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/giu;
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

/** The readable text of sanitised HTML. */
export function htmlText(html: string): string {
  return html.replace(TAG, ' ').replace(ENTITY, (entity, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? entity;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' ';
  });
}
