import type { SuggestionType } from '../engine/search-engine.ts';
import { at } from './document-fields.ts';

/** Longer ones are no help to anybody who types. */
const LONGEST = 300;
/** Of one type and document; beyond it no list is one that somebody chose. */
const MOST = 500;

/** The values of a document that are suggested while somebody types. */
export function suggestedValues(
  document: Readonly<Record<string, unknown>>,
): Record<SuggestionType, string[]> {
  return {
    title: shown([at(document, 'metadata.title')]),
    creator: shown(each(at(document, 'metadata.creators'), 'person_or_org.name')),
    subject: shown(each(at(document, 'metadata.subjects'), 'subject')),
  };
}

function each(list: unknown, path: string): unknown[] {
  return Array.isArray(list) ? list.map((item) => at(item, path)) : [];
}

function shown(values: readonly unknown[]): string[] {
  const texts = values.flatMap((value) => (typeof value === 'string' ? [value.trim()] : []));
  return [...new Set(texts.filter((text) => text !== '' && text.length <= LONGEST))].slice(0, MOST);
}
