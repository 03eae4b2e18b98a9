import type { Logger } from '@kr/telemetry';
import type { Clients } from '../clients.ts';
import type { Call } from './endpoint.ts';
import { invalid } from './invalid.ts';
import { changesIndex, type Route } from './route.ts';

/** Whether a change can be found: `found`, or `pending` when this is not certain yet. */
export const INDEX_HEADER = 'knowledge-index';

const PARAMETER = 'wait_for_index';

export interface WaitForIndexDeps {
  clients: Pick<Clients, 'search' | 'files'>;
  /** Milliseconds; 0 = no wait. */
  maxWaitMs: number;
  logger: Logger;
}

export type WaitForIndex = (route: Route, call: Call) => Promise<'found' | 'pending'>;

/**
 * Whether the request is to be answered after its change is searchable. On routes that do not change the search index the
 * parameter is ignored.
 *
 * @throws ServiceError `invalid`: neither `true` nor `false`
 */
export function wantsIndex(route: Route, query: URLSearchParams): boolean {
  if (!changesIndex(route)) return false;
  const values = query.getAll(PARAMETER);
  if (values.some((value) => value !== 'true' && value !== 'false')) {
    throw invalid(PARAMETER, 'Must be true or false.');
  }
  return values.includes('true');
}

/** Never rejects: the change is done, whether or not the wait succeeds. */
export function waitForIndex({ clients, maxWaitMs, logger }: WaitForIndexDeps): WaitForIndex {
  return async ({ changes = [] }, { principal }) => {
    const endMs = performance.now() + maxWaitMs;
    const within = () => ({ timeoutMs: Math.max(1, Math.round(endMs - performance.now())) });
    if (maxWaitMs === 0) return 'pending';
    try {
      // The search service waits for records and packages only, not for files.
      if (changes.includes('files')) {
        const { areSent } = await clients.files.awaitFileEventsSent({}, principal, within());
        if (!areSent) return 'pending';
      }
      const { isFound } = await clients.search.awaitIndex({}, principal, within());
      return isFound ? 'found' : 'pending';
    } catch (error) {
      logger.debug({ err: error }, 'a change was answered without waiting for the index any longer');
      return 'pending';
    }
  };
}
