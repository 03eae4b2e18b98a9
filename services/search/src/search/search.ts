import type { Principal } from '@kr/caller';
import type {
  ConfirmSearchRequest__Output,
  ConfirmSearchResponse,
  SearchRequest__Output,
  SearchResponse,
} from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import type { Unproven, WantedWrites } from '../consume/await-writes.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { isCostlyQuery } from '../query/query-scans.ts';
import { aggregations } from './aggregations.ts';
import type { BackfillMissing } from './backfill-missing.ts';
import { writeCursor } from './cursor.ts';
import type { OpenEngineTime } from './engine-time.ts';
import { readSearch, type SearchLimits } from './read-search.ts';

export interface SearchDeps {
  index: SearchIndex;
  openTime: OpenEngineTime;
  limits: SearchLimits;
  now: () => Date;
  /** As `awaitWrites` of consume/await-writes.ts. */
  awaitWrites: (wanted: WantedWrites) => Promise<Unproven | undefined>;
  backfillMissing: BackfillMissing;
  /** The longest that a listing waits for news of any kind, in milliseconds. */
  eventsWaitMs: number;
}

/** Of the time that its caller waits, what it may wait: the rest is for searching. */
const SHARE_OF_NEWS = 0.7;
/** Of the wait, what is left for fetching what the index lacks, when waiting for its news has not helped. */
const SHARE_OF_FETCHING = 1 / 3;
/** The minimum for fetching: it is done also without waiting for events. */
const LEAST_FETCHING_MS = 1_000;

/**
 * SearchService.Search. Waits for events, and fetches entities that are known to exist but are not indexed, within the
 * time limit; then it searches.
 * @throws ServiceError `invalid`, `unauthenticated`: see `readSearch`; `unavailable` (`search_timeout`) when the
 * search takes too long, or when a resource that is not indexed yet cannot be fetched
 */
export async function search(
  { index, openTime, limits, now, awaitWrites, backfillMissing, eventsWaitMs: longestMs }: SearchDeps,
  request: SearchRequest__Output,
  { principal, deadline }: Pick<CallContext, 'principal' | 'deadline'>,
): Promise<SearchResponse> {
  const hasWritten = mayHaveWritten(principal);
  const { listing, search: read, cursorSort, isNextTooFar } = readSearch(request, principal, limits, now());
  // One more hit shows whether there is a next page.
  const asked = cursorSort === null ? read : { ...read, limit: read.limit + 1 };
  const { changedBy, missingFrom } = listing;
  const of = hasWritten ? changedBy(asked.scope.kinds) : [];
  const { sentBy, mayLeaveUnasked } = request;
  const eventsWaitMs = Math.min(longestMs, (deadline.getTime() - now().getTime()) * SHARE_OF_NEWS);
  const fetchingMs = Math.max(eventsWaitMs * SHARE_OF_FETCHING, LEAST_FETCHING_MS);
  const begun = performance.now();
  const waitMs = () => eventsWaitMs - (listing.takesIds ? fetchingMs : 0) - (performance.now() - begun);
  const wait = (wanted: WantedWrites) => awaitWrites({ ...wanted, withinMs: waitMs() });
  const unproven = of.length === 0 ? undefined : await wait({ of, sentBy, mayLeaveUnasked });

  const time = openTime(request.caller);
  const isCostly = asked.query !== null && isCostlyQuery(asked.query);
  const find = () => time.run(isCostly, (timeoutMs) => index.search(asked, timeoutMs));

  let answer = await find();
  if (answer.missing.length > 0 && hasWritten && missingFrom.length > 0) {
    await wait({ of: missingFrom });
    answer = await find();
  }
  // Callers find their recent writes, also before the events have arrived.
  if (answer.missing.length > 0 && (await backfillMissing(answer.missing, fetchingMs))) answer = await find();

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
    engineMs: time.usedMs,
  };
}

/** Anonymous callers have no writes. */
function mayHaveWritten({ userId, service, grants }: Principal): boolean {
  return userId !== null || service !== null || grants.some(({ permission }) => permission === 'edit');
}

export interface ConfirmSearchDeps {
  consumer: Pick<Consumer, 'streamEnd'>;
  /** The longest wait for the bus, in milliseconds. */
  timeoutMs: number;
  logger: Logger;
}

/** SearchService.ConfirmSearch. Unknown states are not confirmed. */
export function confirmSearch({ consumer, timeoutMs, logger }: ConfirmSearchDeps) {
  return async ({ streamEnd }: ConfirmSearchRequest__Output): Promise<ConfirmSearchResponse> => {
    const end = await consumer.streamEnd({ timeoutMs }).catch((error: unknown) => {
      logger.debug({ err: error }, 'the end of the stream is not known');
      return undefined;
    });
    return { isConfirmed: end === Number(streamEnd) };
  };
}
