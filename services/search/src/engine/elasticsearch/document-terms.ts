import { documentFields } from '../../index/document-fields.ts';
import { type FieldIndexing, fieldIndexing, keptByField } from '../../index/field-indexing.ts';
import type { FieldWeight } from '../../index/fields.ts';
import { fieldLexeme, fitsIndex, LONGEST_KEYWORD } from '../../index/lexemes.ts';
import { storableText } from '../../index/storable-text.ts';
import { htmlText, textTokens } from '../../index/text-tokens.ts';
import { fieldWord, fitsWord } from './field-words.ts';

/** Of one value, so that a huge one leaves room for the others. */
const MOST_WORDS = 10_000;

export type WordClass = 'a' | 'b' | 'c' | 'd';

/** What a document is found by. Each text is one value's words with blanks between them; no phrase spans two. */
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

export function documentTerms(document: Readonly<Record<string, unknown>>): DocumentTerms {
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
