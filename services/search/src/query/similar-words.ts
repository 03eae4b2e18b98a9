import { fieldType } from '../documents/fields.ts';
import { textTokens } from '../documents/text-tokens.ts';
import { syntaxError } from './query-error.ts';
import type { FuzzyNode } from './query-tree.ts';

/**
 * Which words of the index a word with `~` means, for every engine the same: those with the same first character that
 * at most `distance` characters put in, left out or replaced make of it (Levenshtein, in code points, of folded
 * words; two that changed places are two).
 */
export interface SimilarTo {
  word: string;
  /** Zero means the word itself. */
  distance: number;
}

/**
 * @returns null for a text without words
 * @throws ServiceError `invalid`: several words, or a field whose values are compared whole
 */
export function similarTo({ field, text, distance, position }: FuzzyNode): SimilarTo | null {
  const [word, ...others] = textTokens(text);
  if (field !== null && fieldType(field) !== 'text') {
    throw syntaxError(`"~" is for words, the values of ${field} are compared whole: unescaped "~"`, position);
  }
  if (word === undefined) return null;
  if (others.length > 0) throw syntaxError('"~" takes one word', position);
  const length = [...word].length;
  return { word, distance: Math.min(distance ?? usualDistance(length), mostDistance(length)) };
}

function usualDistance(length: number): number {
  return length < 6 ? 1 : 2;
}

/** Words that share next to nothing are not similar. */
function mostDistance(length: number): number {
  return length < 3 ? 0 : length < 5 ? 1 : 2;
}
