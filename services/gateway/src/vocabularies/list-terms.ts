import { type Term, terms } from '@kr/metadata';
import { type Endpoint, json } from '../http/endpoint.ts';
import { pageLinks } from '../search/page-links.ts';
import { type PageLimits, readPage } from '../search/read-page.ts';
import { termJson } from './term-json.ts';
import { vocabularyOf } from './vocabulary-of.ts';

/** GET /api/vocabularies/{type}: all entries, or those that `q` or `suggest` names by beginnings of words. */
export function listTerms(limits: PageLimits): Endpoint {
  return async (call) => {
    const type = vocabularyOf(call);
    const { size, page } = readPage(call.query, limits);
    const asked = ['q', 'suggest'].flatMap((name): [string, string][] => {
      const text = call.query.get(name) ?? '';
      return text === '' ? [] : [[name, text]];
    });
    const wanted = asked.flatMap(([, text]) => wordsOf(text));
    const found = terms(type).filter((term) => isNamed(term, wanted));
    const shown = found.slice((page - 1) * size, page * size);
    return json(200, {
      hits: { hits: shown.map((term) => termJson(term, type, call.baseUrl)), total: found.length },
      aggregations: {},
      // The order of the vocabulary itself.
      sortBy: 'bestmatch',
      links: pageLinks(`${call.baseUrl}${call.path}`, {
        size,
        page,
        total: found.length,
        parameters: [['sort', 'bestmatch'], ...asked],
      }),
    });
  };
}

/** Whether every wanted word begins a word of the entry's id or titles. */
function isNamed({ id, title }: Term, wanted: readonly string[]): boolean {
  const names = [id, ...Object.values(title)].flatMap((text) => [folded(text), ...wordsOf(text)]);
  return wanted.every((word) => names.some((name) => name.startsWith(word)));
}

function wordsOf(text: string): string[] {
  return folded(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Without case and accents. */
function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}
