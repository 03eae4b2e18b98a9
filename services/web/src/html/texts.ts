import { en } from './en.ts';

/** All texts of pages in one language. */
export type Texts = typeof en;

const CATALOGUES: Readonly<Record<string, Texts>> = { en };

/** The texts in `language` (BCP 47), or in English. */
export function textsIn(language: string): Texts {
  return CATALOGUES[language] ?? en;
}
