import { fieldLexeme } from '../../index/lexemes.ts';
import { storableText } from '../../index/storable-text.ts';

/** The whitespace tokenizer cuts what is longer. */
const LONGEST_WORD = 255;

/** What parts words for the tokenizer; no word has any of it, but the name of a field that an uploader chose may. */
const BLANKS = /[\s\p{Cc}]/gu;

/** A word of one field, as documents and queries name it. */
export function fieldWord(field: string, word: string): string {
  return fieldLexeme(storableText(field).replace(BLANKS, '\u0001'), word);
}

export function fitsWord(word: string): boolean {
  return word.length <= LONGEST_WORD;
}
