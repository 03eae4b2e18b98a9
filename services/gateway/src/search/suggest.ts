import type { Clients } from '../clients.ts';
import { type Endpoint, json } from '../http/endpoint.ts';
import { chargeSearch } from './charge-search.ts';
import { confirmSuggestions } from './confirm-suggestions.ts';
import { type PageLimits, readSearchPage } from './read-page.ts';
import { assertText } from './search-query.ts';

/** GET /api/search/suggest: titles, creators or subjects of published entities that the caller may read. */
export function suggest(clients: Clients, limits: PageLimits): Endpoint {
  return async (call) => {
    const { query, principal, signal, caller } = call;
    assertText(query);
    const { size } = readSearchPage(query, limits);
    const wanted = {
      q: query.get('q') ?? '',
      type: query.get('type') ?? 'title',
      // Only the search service knows how many it may be.
      size: query.has('size') ? size : 0,
      caller,
    };
    const { suggestions } = await chargeSearch(call, () =>
      clients.search.suggest(wanted, principal, { signal }),
    );
    const confirmed = await confirmSuggestions(clients, suggestions, call);
    return json(200, {
      suggestions: confirmed.map(({ value, count }) => ({ value, count: Number(count) })),
    });
  };
}
