import { ServiceError } from '@kr/service-error';
import { LRUCache } from 'lru-cache';

/** Decoding and checking a body of 1 MiB takes up to 80 ms, in threads that answer all other requests too. */
const BYTES_PER_MS = 2_097.152;
/** The burst of a caller, in milliseconds of its rate. */
const BURST_MS = 1_000;
const MAX_WAIT_MS = 5_000;
const MAX_CALLERS = 10_000;

/**
 * Waits until the caller may have a JSON body of this size handled: 2 MiB a second, after 2 MiB at once.
 *
 * @throws ServiceError `rate_limited` (`too_many_bodies`): the caller would wait for more than five seconds
 */
export type PaceBodies = (caller: string, bytes: number, signal: AbortSignal) => Promise<void>;

export interface PaceBodiesDeps {
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
  /** Ends early when the client goes away. */
  pause: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

export function paceBodies({ elapsed, pause }: PaceBodiesDeps): PaceBodies {
  const busyUntil = new LRUCache<string, number>({ max: MAX_CALLERS });
  return async (caller, bytes, signal) => {
    const now = elapsed();
    const begin = Math.max(now, busyUntil.get(caller) ?? now);
    const waitMs = begin - now - BURST_MS;
    if (waitMs > MAX_WAIT_MS)
      throw new ServiceError(
        'rate_limited',
        `Request bodies from this user or address exceed 2 MiB per second. Retry in ${Math.ceil(waitMs / 1_000)} s.`,
        { code: 'too_many_bodies', retryAfterMs: waitMs },
      );
    busyUntil.set(caller, begin + bytes / BYTES_PER_MS);
    if (waitMs > 0) await pause(waitMs, signal);
  };
}
