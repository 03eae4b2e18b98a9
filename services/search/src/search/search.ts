import type { Principal } from '@kr/caller';
import type { SearchRequest__Output, SearchResponse } from '@kr/contracts';
import type { SenderName } from '../consume/await-writes.ts';
import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { aggregations } from './aggregations.ts';
import { readSearch, type SearchPaging } from './read-search.ts';

export interface SearchDeps {
  engine: SearchEngine;
  source: EntitySource;
  paging: SearchPaging;
  now: () => Date;
  /**
   * Resolves when the index holds what these services have written before the call, or when that takes too long. Never
   * rejects.
   */
  awaitWrites: (senders: readonly SenderName[]) => Promise<void>;
}

/**
 * SearchService.Search.
 *
 * @throws ServiceError `invalid`, `unauthenticated` as `readSearch` says; `unavailable` (`search_timeout`) when the
 *   search takes too long, or when a resource that is not indexed yet cannot be fetched
 */
export async function search(
  { engine, source, paging, now, awaitWrites }: SearchDeps,
  request: SearchRequest__Output,
  principal: Principal,
): Promise<SearchResponse> {
  const { listing, search: asked } = readSearch(request, principal, paging, now());
  const senders = listing.changedBy(asked.scope.kinds);
  if (senders.length > 0 && mayHaveWritten(principal)) await awaitWrites(senders);

  let answer = await engine.search(asked);
  if (answer.missing.length > 0) {
    // Who has just written what the index has not heard of yet finds it all the same.
    await engine.write({ entities: await source.fetch('record', answer.missing), tombstones: [] });
    answer = await engine.search(asked);
  }

  return {
    hits: answer.hits.map(({ kind, id, form }) => ({ kind, id, isDraft: form === 'draft' })),
    total: answer.total,
    aggregationsJson: Buffer.from(
      JSON.stringify(aggregations(listing.facets, answer.facets, asked.selected)),
    ),
    sortBy: asked.sort,
    effectiveFilters: Object.entries(asked.selected).map(([name, values]) => ({ name, values: [...values] })),
  };
}

/** Whoever is nobody has written nothing. */
function mayHaveWritten({ userId, service, grants }: Principal): boolean {
  return userId !== null || service !== null || grants.some(({ permission }) => permission === 'edit');
}
