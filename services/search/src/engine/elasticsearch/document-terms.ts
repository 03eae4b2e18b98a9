import { documentFields } from '../../index/document-fields.ts';
import { type FieldWeight, fieldType, fieldWeight, hasKeywordTwin, isHtmlField } from '../../index/fields.ts';
import { htmlText, textTokens } from '../../index/text-tokens.ts';
import { existsLexeme, fieldLexeme, fitsIndex, LONGEST_KEYWORD } from '../postgres/lexemes.ts';
import { storableText } from '../postgres/parameters.ts';
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

export function documentTerms(document: Readonly<Record<string, unknown>>): DocumentTerms {
  const words: DocumentTerms['words'] = { a: [], b: [], c: [], d: [] };
  const fieldWords: string[] = [];
  const exact = new Set<string>();
  for (const { field, value } of documentFields(document)) {
    const isText = fieldType(field) === 'text';
    const weight = fieldWeight(field);
    for (const path of pathPrefixes(field)) exact.add(existsLexeme(path));
    const keyword = storableText(value);
    if ((!isText || hasKeywordTwin(field)) && keyword !== '' && keyword.length <= LONGEST_KEYWORD) {
      exact.add(fieldLexeme(isText ? `${field}.keyword` : field, keyword));
    }
    if (!isText && weight === null) continue;
    const tokens = textTokens(isHtmlField(field) ? htmlText(value) : value).slice(0, MOST_WORDS);
    if (tokens.length === 0) continue;
    if (weight !== null) words[CLASSES[weight]].push(tokens.join(' '));
    if (isText)
      fieldWords.push(
        tokens
          .map((token) => fieldWord(field, token))
          .filter(fitsWord)
          .join(' '),
      );
  }
  return { words, fieldWords, exact: [...exact].map(storableText).filter(fitsIndex) };
}

/** `a.b.c` → `a.b.c`, `a.b`, `a`. */
function pathPrefixes(field: string): string[] {
  const parts = field.split('.');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('.'));
}
