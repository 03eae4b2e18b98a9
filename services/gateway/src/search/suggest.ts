import type { Suggestion__Output, SuggestionSource__Output } from '@kr/contracts';
import { fromErrorDetail } from '@kr/rpc';
import type { Clients } from '../clients.ts';
import { type Call, json } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import { KINDS, type Kind } from '../kind.ts';
import { type PageLimits, readSearchPage } from '../rendering/page-links.ts';
import { chargeSearch } from './find-entities.ts';
import { assertText } from './search-query.ts';

export function suggestRoutes(clients: Clients, limits: PageLimits): Operation[] {
  return [
    {
      method: 'GET',
      path: '/api/search/suggest',
      auth: 'open',
      cost: 'search',
      lane: 'search',
      operationId: 'suggest',
      summary: 'Completions of titles, creators or subjects, from documents that the caller may read.',
      parameters: ['typed', 'suggested', 'suggestions'],
      responses: { 200: 'Suggestions' },
      errors: [400],
      handler: async (call) => {
        const { query, principal, signal, requesterId } = call;
        assertText(query);
        const { size } = readSearchPage(query, limits);
        const request = {
          q: query.get('q') ?? '',
          type: query.get('type') ?? 'title',
          // Only the search service knows how many it may be.
          size: query.has('size') ? size : 0,
          caller: requesterId,
        };
        const { suggestions } = await chargeSearch(call, () =>
          clients.search.suggest(request, principal, { signal }),
        );
        const confirmed = await confirmSuggestions(clients, suggestions, call);
        return json(200, {
          suggestions: confirmed.map(({ value, count }) => ({ value, count: Number(count) })),
        });
      },
    },
  ];
}

/** Documents per call: as many of the largest size as a service reads at once. */
const REFS_PER_CALL = 10;

/** Errors of single documents that remove their suggestions; other errors fail the request. */
const SKIPPED: ReadonlySet<string> = new Set(['not_found', 'gone', 'forbidden', 'unavailable']);

/**
 * The suggestions with at least one source that the caller may still read in the indexed revision. The index may be behind the
 * services, and would otherwise show titles of documents that are now restricted.
 * @throws ServiceError when a service cannot be reached
 */
async function confirmSuggestions(
  clients: Clients,
  suggestions: readonly Suggestion__Output[],
  call: Pick<Call, 'principal' | 'signal'>,
): Promise<Suggestion__Output[]> {
  const confirmed = new Set<Suggestion__Output>();
  const rounds = Math.max(0, ...suggestions.map(({ sources }) => sources.length));
  for (let round = 0; round < rounds; round += 1) {
    const open = suggestions.filter((suggestion) => !confirmed.has(suggestion));
    const readable = await readableSources(
      clients,
      open.flatMap(({ sources }) => sources[round] ?? []),
      call,
    );
    for (const suggestion of open) {
      const source = suggestion.sources[round];
      if (source && readable.has(keyOf(source))) confirmed.add(suggestion);
    }
  }
  return suggestions.filter((suggestion) => confirmed.has(suggestion));
}

async function readableSources(
  clients: Clients,
  sources: readonly SuggestionSource__Output[],
  { principal, signal }: Pick<Call, 'principal' | 'signal'>,
): Promise<Set<string>> {
  const readable = new Set<string>();
  const readKind = async (kind: Kind): Promise<void> => {
    const ids = [...new Set(sources.flatMap((source) => (source.kind === kind ? source.id : [])))];
    for (let start = 0; start < ids.length; start += REFS_PER_CALL) {
      const refs = ids
        .slice(start, start + REFS_PER_CALL)
        .map((id) => ({ id, form: 'FORM_PUBLISHED' as const }));
      const { results } = await clients.lifecycle[kind].readEntities({ refs, omitJson: true }, principal, {
        signal,
      });
      for (const { document, error } of results) {
        if (document) readable.add(keyOf({ kind, ...document }));
        else if (error && !SKIPPED.has(error.kind)) throw fromErrorDetail(error);
      }
    }
  };
  await Promise.all(KINDS.map(readKind));
  return readable;
}

function keyOf({ kind, id, revision }: SuggestionSource__Output): string {
  return `${kind} ${id} ${revision}`;
}
