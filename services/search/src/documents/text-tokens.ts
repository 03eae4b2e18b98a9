/** Without NUL and halves of surrogate pairs, which Postgres cannot hold: both engines leave them out. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '');
}

/**
 * The prefixes of terms in the `terms` column, for documents and queries. Words hold only letters, digits, marks, `_`,
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

/** Longest value of a keyword field that can be searched for; longer ones are only found by their field. */
export const LONGEST_KEYWORD = 256;

/** Postgres takes no lexeme of 2 KiB or more. */
const LONGEST_LEXEME_BYTES = 2_000;

export function fitsIndex(lexeme: string): boolean {
  // No character of a text takes more than three bytes for each of its code units.
  return lexeme.length <= LONGEST_LEXEME_BYTES / 3 || Buffer.byteLength(lexeme) <= LONGEST_LEXEME_BYTES;
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

/** Lower case without accents: what a word is compared by. */
export function foldText(text: string): string {
  // Most texts are; what follows would take most of the time for nothing.
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

/** Longer words are cut; both the index and the query do it, so they still meet. */
const LONGEST_TOKEN = 200;

/** The words of a text, folded, in order: the same for documents and for queries. */
export function textTokens(text: string): string[] {
  return (foldText(text).match(WORD) ?? []).map((token) => token.slice(0, LONGEST_TOKEN).toWellFormed());
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
