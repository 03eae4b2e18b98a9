import type { Principal } from '@kr/caller';
import type { SearchRequest__Output, SearchResponse } from '@kr/contracts';
import type { Unproven, WantedWrites } from '../consume/await-writes.ts';
import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { aggregations } from './aggregations.ts';
import { writeCursor } from './cursor.ts';
import { readSearch, type SearchLimits } from './read-search.ts';

export interface SearchDeps {
  engine: SearchEngine;
  source: EntitySource;
  limits: SearchLimits;
  now: () => Date;
  /** As `awaitWrites` of consume/await-writes.ts. */
  awaitWrites: (wanted: WantedWrites) => Promise<Unproven | undefined>;
}

/**
 * SearchService.Search.
 *
 * @throws ServiceError `invalid`, `unauthenticated` as `readSearch` says; `unavailable` (`search_timeout`) when the
 *   search takes too long, or when a resource that is not indexed yet cannot be fetched
 */
export async function search(
  { engine, source, limits, now, awaitWrites }: SearchDeps,
  request: SearchRequest__Output,
  principal: Principal,
): Promise<SearchResponse> {
  const hasWritten = mayHaveWritten(principal);
  const known = hasWritten ? request : { ...request, publishedIds: [] };
  const { listing, search: read, cursorSort, isNextTooFar } = readSearch(known, principal, limits, now());
  // One more tells whether there is a next page.
  const asked = cursorSort === null ? read : { ...read, limit: read.limit + 1 };
  const { changedBy, missingFrom } = listing;
  const of = hasWritten ? changedBy(asked.scope.kinds) : [];
  const { sentBy, mayLeaveUnasked } = request;
  const unproven = of.length === 0 ? undefined : await awaitWrites({ of, sentBy, mayLeaveUnasked });

  let answer = await engine.search(asked);
  if (answer.missing.length > 0 && hasWritten && missingFrom.length > 0) {
    await awaitWrites({ of: missingFrom });
    answer = await engine.search(asked);
  }
  if (answer.missing.length > 0) {
    // Who has just written what the index has not heard of yet finds it all the same.
    await engine.write({ unannounced: await source.fetch('record', answer.missing) });
    answer = await engine.search(asked);
  }

  const hits = answer.hits.slice(0, read.limit);
  const last = answer.hits.length > read.limit ? hits.at(-1) : undefined;
  return {
    hits: hits.map(({ kind, id, form }) => ({ kind, id, isDraft: form === 'draft' })),
    total: answer.total,
    aggregationsJson: Buffer.from(JSON.stringify(aggregations(asked.facets, answer.facets, asked.selected))),
    sortBy: asked.sort,
    effectiveFilters: Object.entries(asked.selected).map(([name, values]) => ({ name, values: [...values] })),
    unasked: [...(unproven?.unasked ?? [])],
    nextCursor: cursorSort !== null && last !== undefined ? writeCursor(cursorSort, last) : '',
    isNextTooFar,
    streamEnd: unproven?.streamEnd ?? 0,
  };
}

/** Whoever is nobody has written nothing. */
function mayHaveWritten({ userId, service, grants }: Principal): boolean {
  return userId !== null || service !== null || grants.some(({ permission }) => permission === 'edit');
}
