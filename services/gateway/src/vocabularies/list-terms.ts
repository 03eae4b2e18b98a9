import { type Term, terms } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import { type Endpoint, json } from '../http/endpoint.ts';
import { pageLinks } from '../search/page-links.ts';
import { type PageLimits, readPage } from '../search/read-page.ts';
import { termJson } from './term-json.ts';
import { vocabularyOf } from './vocabulary-of.ts';
import { folded, wordsOf } from './words.ts';

/** GET /api/vocabularies/{type}: all entries in their own order, or those that `q` or `suggest` names, best match first. */
export function listTerms(limits: PageLimits): Endpoint {
  return async (call) => {
    const type = vocabularyOf(call);
    checkSort(call.query.get('sort'));
    const { size, page } = readPage(call.query, limits);
    const asked = ['q', 'suggest'].flatMap((name): [string, string][] => {
      const text = call.query.get(name) ?? '';
      return text === '' ? [] : [[name, text]];
    });
    const wanted = asked.flatMap(([, text]) => wordsOf(text));
    const found = rankedTerms(terms(type), wanted);
    const shown = found.slice((page - 1) * size, page * size);
    return json(200, {
      hits: { hits: shown.map((term) => termJson(term, type, call.baseUrl)), total: found.length },
      aggregations: {},
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

interface SearchableTerm {
  term: Term;
  /** The id and the titles, as words. */
  names: readonly string[];
  /** Every id, title and word of them. */
  words: readonly string[];
}

/** Folding thousands of titles takes too long to do it for each request. */
const searchable = new WeakMap<readonly Term[], readonly SearchableTerm[]>();

function searchableTerms(all: readonly Term[]): readonly SearchableTerm[] {
  const known = searchable.get(all);
  if (known !== undefined) return known;
  const made = all.map((term): SearchableTerm => {
    const texts = [term.id, ...Object.values(term.title)];
    const words = texts.flatMap((text) => [folded(text), ...wordsOf(text)]);
    return { term, names: texts.map((text) => wordsOf(text).join(' ')), words };
  });
  searchable.set(all, made);
  return made;
}

/** Entries with a word that begins with each wanted word. Order: equal id or title, id or title that begins with the text, others. */
function rankedTerms(all: readonly Term[], wanted: readonly string[]): readonly Term[] {
  if (wanted.length === 0) return all;
  const text = wanted.join(' ');
  const ranks: Term[][] = [[], [], []];
  for (const { term, names, words } of searchableTerms(all)) {
    if (!wanted.every((word) => words.some((name) => name.startsWith(word)))) continue;
    const rank = names.includes(text) ? 0 : names.some((name) => name.startsWith(text)) ? 1 : 2;
    ranks[rank]?.push(term);
  }
  return ranks.flat();
}

/** @throws ServiceError `invalid`: there is one order */
function checkSort(sort: string | null): void {
  if (sort === null || sort === '' || sort === 'bestmatch') return;
  throw new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field: 'sort', messages: ['Must be one of: bestmatch.'] }],
  });
}
