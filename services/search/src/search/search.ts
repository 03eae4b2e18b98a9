import type { Principal } from '@kr/caller';
import type { SearchRequest__Output, SearchResponse } from '@kr/contracts';
import type { Vocabularies } from '@kr/metadata';
import type { CallContext } from '@kr/rpc';
import type { EntityKind } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { isCostlyQuery } from '../query/query-conditions.ts';
import { aggregations } from './aggregations.ts';
import type { BackfillMissing } from './backfill-missing.ts';
import { formatCursor } from './cursor.ts';
import type { OpenEngineTime } from './engine-time.ts';
import { parseSearch } from './parse-search.ts';

export interface SearchDeps {
  index: SearchIndex;
  vocabularies: Vocabularies;
  openTime: OpenEngineTime;
  now: () => Date;
  /** Waits until the index has the earlier writes of these kinds, or for a timeout in milliseconds. */
  awaitWrites: (kinds: readonly EntityKind[], timeoutMs: number) => Promise<void>;
  backfillMissing: BackfillMissing;
  /** Limit of the time that a listing waits for events and missing entities together, in milliseconds. */
  maxWaitMs: number;
}

/** The share of the caller's time for waiting; the rest is for searching. */
const WAITING_SHARE = 0.7;
/** The share of the waiting time for fetching missing entities. */
const FETCHING_SHARE = 1 / 3;
/** The minimum for fetching: it is done also without waiting for events. */
const MIN_FETCHING_MS = 1_000;

/**
 * SearchService.Search. Waits for events, and indexes entities that exist but are missing in the index, within the
 * time limit; then it searches.
 * @throws ServiceError `invalid`, `unauthenticated`: see `readSearch`; `unavailable` (`search_timeout`) when the
 * search takes too long, or when a resource that is not indexed yet cannot be fetched
 */
export function search({
  index,
  vocabularies,
  openTime,
  now,
  awaitWrites,
  backfillMissing,
  maxWaitMs,
}: SearchDeps) {
  return async (
    request: SearchRequest__Output,
    { principal, deadline }: Pick<CallContext, 'principal' | 'deadline'>,
  ): Promise<SearchResponse> => {
    const { listing, search, cursorSort, isNextTooFar } = parseSearch(request, principal, now());
    // One more hit shows whether there is a next page.
    const searchWithOneMore = cursorSort === null ? search : { ...search, limit: search.limit + 1 };
    const waitMs = Math.min(maxWaitMs, (deadline.getTime() - now().getTime()) * WAITING_SHARE);
    const fetchingMs = Math.max(waitMs * FETCHING_SHARE, MIN_FETCHING_MS);
    if (listing.awaitsWrites && mayHaveWritten(principal))
      await awaitWrites(search.scope.kinds, listing.takesIds ? waitMs - fetchingMs : waitMs);

    const time = openTime(request.caller);
    const isCostly = search.query !== null && isCostlyQuery(search.query);
    const find = () =>
      time.run(isCostly, (engineDeadline) => index.search(searchWithOneMore, engineDeadline));
    let answer = await find();
    // Callers find their recent writes, also before the events have arrived.
    if (answer.missing.length > 0 && (await backfillMissing(answer.missing, fetchingMs)))
      answer = await find();

    const hits = answer.hits.slice(0, search.limit);
    const last = answer.hits.length > search.limit ? hits.at(-1) : undefined;
    return {
      hits: hits.map(({ kind, id, form }) => ({ kind, id, isDraft: form === 'draft' })),
      total: answer.total,
      aggregationsJson: Buffer.from(
        JSON.stringify(aggregations(search.facets, answer.facets, search.selected, vocabularies)),
      ),
      sortBy: search.sort,
      effectiveFilters: Object.entries(search.selected).map(([name, values]) => ({
        name,
        values: [...values],
      })),
      nextCursor: cursorSort !== null && last !== undefined ? formatCursor(cursorSort, last) : '',
      isNextTooFar,
      engineMs: time.engineMs,
    };
  };
}

/** Anonymous callers have no writes. */
function mayHaveWritten({ userId, service, grants }: Principal): boolean {
  return userId !== null || service !== null || grants.some(({ permission }) => permission === 'edit');
}
