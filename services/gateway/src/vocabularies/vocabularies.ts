import { createHash } from 'node:crypto';
import { isVocabularyType, type Term, type VocabularyType, vocabularyTypes } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import { type Call, json, param, type Reply } from '../http/endpoint.ts';
import { folded, wordsOf } from '../http/hints.ts';
import { invalid } from '../http/invalid.ts';
import type { Operation } from '../http/route.ts';
import { type PageLimits, pageLinks, readPage } from '../rendering/page-links.ts';

export function vocabularyRoutes(limits: PageLimits): Operation[] {
  return [
    {
      method: 'GET',
      path: '/api/vocabularies',
      auth: 'open',
      lane: 'local',
      operationId: 'listVocabularies',
      summary: 'The types of vocabularies.',
      responses: { 200: 'Vocabularies' },
      handler: listVocabularies,
    },
    {
      method: 'GET',
      path: '/api/vocabularies/:type',
      auth: 'open',
      lane: 'local',
      operationId: 'listTerms',
      summary:
        'The entries of a vocabulary, or the entries whose ids and titles contain the words of the query, best match first.',
      parameters: ['words', 'suggest', 'sortTerms', 'size', 'page'],
      responses: { 200: 'Terms' },
      errors: [400, 404],
      handler: (call) => listTerms(limits, call),
    },
    {
      method: 'GET',
      path: '/api/vocabularies/:type/:termId',
      auth: 'open',
      lane: 'local',
      operationId: 'readTerm',
      summary: 'One entry of a vocabulary.',
      responses: { 200: 'Term' },
      errors: [404],
      handler: readTerm,
    },
  ];
}

/** @throws ServiceError `not_found`: there is no such vocabulary */
function vocabularyOf(call: Call): VocabularyType {
  const name = param(call, 'type');
  if (!isVocabularyType(name)) throw new ServiceError('not_found', 'Not found.');
  return name;
}

/** When the vocabularies of this release were compiled; their entries never change one by one. */
const COMPILED_AT = '2026-11-21T00:00:00.000000+00:00';

/** The public form of one entry of a vocabulary. */
function termJson(term: Term, type: VocabularyType, baseUrl: string): Record<string, unknown> {
  const { id, title, description, icon, props, tags } = term;
  return {
    id,
    created: COMPILED_AT,
    updated: COMPILED_AT,
    links: { self: `${baseUrl}/api/vocabularies/${type}/${encodeURIComponent(id)}` },
    revision_id: 1,
    title,
    ...(description === undefined ? {} : { description }),
    ...(icon === undefined ? {} : { icon }),
    props: props ?? {},
    tags: tags ?? [],
    type,
  };
}

export async function listVocabularies({ baseUrl }: Call): Promise<Reply> {
  const types = vocabularyTypes();
  return json(200, {
    hits: {
      hits: types.map((id) => ({ id, links: { self: `${baseUrl}/api/vocabularies/${id}` } })),
      total: types.length,
    },
    links: { self: `${baseUrl}/api/vocabularies` },
  });
}

export async function listTerms(limits: PageLimits, call: Call): Promise<Reply> {
  const type = vocabularyOf(call);
  checkSort(call.query.get('sort'));
  const { size, page } = readPage(call.query, limits);
  const searches = ['q', 'suggest'].flatMap((name): [string, string][] => {
    const text = call.query.get(name) ?? '';
    return text === '' ? [] : [[name, text]];
  });
  const words = searches.flatMap(([, text]) => wordsOf(text));
  const found = rankedTerms(call.vocabularies.terms(type), words);
  const pageTerms = found.slice((page - 1) * size, page * size);
  return json(200, {
    hits: { hits: pageTerms.map((term) => termJson(term, type, call.baseUrl)), total: found.length },
    aggregations: {},
    sortBy: 'bestmatch',
    links: pageLinks(`${call.baseUrl}${call.path}`, {
      size,
      page,
      total: found.length,
      parameters: [['sort', 'bestmatch'], ...searches],
    }),
  });
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
  const cached = searchable.get(all);
  if (cached !== undefined) return cached;
  const computed = all.map((term): SearchableTerm => {
    const texts = [term.id, ...Object.values(term.title)];
    const words = texts.flatMap((text) => [folded(text), ...wordsOf(text)]);
    return { term, names: texts.map((text) => wordsOf(text).join(' ')), words };
  });
  searchable.set(all, computed);
  return computed;
}

/** Entries with a word that begins with each word of the query. Order: equal id or title, id or title that begins with the text, others. */
function rankedTerms(all: readonly Term[], query: readonly string[]): readonly Term[] {
  if (query.length === 0) return all;
  const text = query.join(' ');
  const ranks: Term[][] = [[], [], []];
  for (const { term, names, words } of searchableTerms(all)) {
    if (!query.every((word) => words.some((name) => name.startsWith(word)))) continue;
    const rank = names.includes(text) ? 0 : names.some((name) => name.startsWith(text)) ? 1 : 2;
    ranks[rank]?.push(term);
  }
  return ranks.flat();
}

/** @throws ServiceError `invalid`: there is one order */
function checkSort(sort: string | null): void {
  if (sort === null || sort === '' || sort === 'bestmatch') return;
  throw invalid('sort', 'Must be one of: bestmatch.');
}

const digest = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 16);

export async function readTerm(call: Call): Promise<Reply> {
  const type = vocabularyOf(call);
  const term = call.vocabularies.lookup(type, param(call, 'termId'));
  if (term === undefined) {
    throw new ServiceError('not_found', 'The persistent identifier does not exist.');
  }
  // Those of a release keep the one revision that they have; an operator's may change at any time.
  const variant = call.vocabularies.isAddition(type, term.id) ? digest(JSON.stringify(term)) : '';
  return { ...json(200, termJson(term, type, call.baseUrl)), state: { revision: '1', variant } };
}
