import type { Titled } from '@kr/formats';
import type { Texts } from '../html/texts.ts';

/** The title of a vocabulary entry in the language of the page, or else in English, or its id. */
export function labelOf(entry: Titled | undefined, texts: Texts): string | undefined {
  if (entry === undefined) return undefined;
  return inLanguage(entry.title, texts) ?? entry.id;
}

export function inLanguage(
  titles: Readonly<Record<string, string>> | undefined,
  { language }: Pick<Texts, 'language'>,
): string | undefined {
  return titles?.[language] ?? titles?.['en'] ?? Object.values(titles ?? {})[0];
}
