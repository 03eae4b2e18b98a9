import { ServiceError } from '@kr/service-error';
import { counter } from '@kr/telemetry';
import type { OverloadConfig } from '../config.ts';
import type { Lane } from '../http/route.ts';

const LANES: readonly Lane[] = ['read', 'write', 'search', 'transfer'];

/** Counts the requests that were rejected because too many were in progress. */
export function countRejected(): (lane: Lane) => void {
  const count = counter(
    '@kr/gateway',
    {
      name: 'http_server_requests_refused',
      description: 'Requests that were answered 503 at once because too many were in progress.',
    },
    LANES.map((lane) => ({ lane })),
  );
  return (lane) => count({ lane });
}

export interface ConcurrencyLimit {
  /**
   * Admits a request before its body or credentials are read.
   * @throws ServiceError `unavailable` (`overloaded`): too many requests are in progress; nothing was done
   */
  acquire(lane: Lane, about?: { isDownload: boolean }): Permit;
}

/** A slot for one request in progress. */
export interface Permit {
  /**
   * Counts a transfer for its caller, once the caller is authenticated.
   *
   * @throws ServiceError `rate_limited` (`too_many_transfers`): the caller has its share of them, or anonymous callers have theirs
   */
  assign(caller: LimitKey): void;
  /**
   * Counts bytes of a body that is arriving, until `release` or `reacquire`.
   *
   * @throws ServiceError
   *   - `rate_limited` (`too_many_bodies`): the caller, or anonymous callers together, have their share
   *   - `unavailable` (`overloaded`): the bodies of all callers are at their limit
   */
  addBodyBytes(bytes: number): void;
  /** Releases the slot; may be called again. */
  release(): void;
  /** Takes a slot again after the release. @throws ServiceError as `acquire` */
  reacquire(): void;
}

/** The user or address that a request counts for. */
export interface LimitKey {
  key: string;
  isAnonymous: boolean;
}

export interface ConcurrencyLimitDeps {
  config: OverloadConfig;
  /** Bytes of the largest body. */
  bodyMaxBytes: number;
  refused: (lane: Lane) => void;
}

/** The share of the requests that may be searches and changes; the rest is left for reads. */
const EXPENSIVE_SHARE = 0.75;
/** Shares of the transfers: of all downloads, so that uploads have room; of anonymous callers; and of one caller. */
const DOWNLOAD_SHARE = 0.8;
const ANONYMOUS_SHARE = 0.6;
const CALLER_SHARE = 0.05;
/** A caller may have this many transfers however few there may be. */
const MIN_TRANSFERS_PER_CALLER = 16;
/** Bodies of the largest size whose bytes may be in memory at once while they arrive: of all callers, and of one caller. */
const MAX_BODIES = 128;
const MIN_BODIES_PER_CALLER = 8;
const RETRY_AFTER_MS = 1_000;
const NO_PERMIT: Permit = {
  assign: () => undefined,
  addBodyBytes: () => undefined,
  release: () => undefined,
  reacquire: () => undefined,
};

/** Counts the requests in progress, and rejects those beyond the limits. */
export function concurrencyLimit({ config, bodyMaxBytes, refused }: ConcurrencyLimitDeps): ConcurrencyLimit {
  const { maxRequestsInFlight, maxTransfersInFlight } = config;
  const maxExpensive = Math.ceil(EXPENSIVE_SHARE * maxRequestsInFlight);
  const limits = {
    read: maxRequestsInFlight,
    write: maxExpensive,
    search: maxExpensive,
    transfer: maxTransfersInFlight,
  };
  const maxDownloads = Math.ceil(DOWNLOAD_SHARE * maxTransfersInFlight);
  const inProgress = { requests: 0, transfer: 0, downloads: 0, bodyBytes: 0 };
  const transfers = callerShares(maxTransfersInFlight, MIN_TRANSFERS_PER_CALLER);
  const maxBodyBytes = MAX_BODIES * bodyMaxBytes;
  const bodies = callerShares(maxBodyBytes, MIN_BODIES_PER_CALLER * bodyMaxBytes);

  const take = (lane: Exclude<Lane, 'local'>, isDownload: boolean): (() => void) => {
    const counted = lane === 'transfer' ? 'transfer' : 'requests';
    const isFull =
      inProgress[counted] >= limits[lane] || (isDownload && inProgress.downloads >= maxDownloads);
    if (isFull) {
      refused(lane);
      throw overloaded(lane);
    }
    inProgress[counted] += 1;
    if (isDownload) inProgress.downloads += 1;
    return () => {
      inProgress[counted] -= 1;
      if (isDownload) inProgress.downloads -= 1;
    };
  };

  return {
    acquire(lane, { isDownload } = { isDownload: false }) {
      if (lane === 'local') return NO_PERMIT;
      let releaseSlot: (() => void) | undefined = take(lane, isDownload);
      let caller: LimitKey | undefined;
      let hasShare = false;
      let bodyBytes = 0;
      const releaseBody = () => {
        if (caller !== undefined) bodies.remove(caller, bodyBytes);
        inProgress.bodyBytes -= bodyBytes;
        bodyBytes = 0;
      };
      return {
        assign: (assigned) => {
          caller = assigned;
          if (lane !== 'transfer') return;
          hasShare = transfers.add(assigned, 1);
          if (hasShare) return;
          refused(lane);
          throw tooManyTransfers();
        },
        addBodyBytes: (bytes) => {
          if (caller === undefined) return;
          const hasRoom = inProgress.bodyBytes + bytes <= maxBodyBytes;
          if (!hasRoom || !bodies.add(caller, bytes)) {
            refused(lane);
            throw hasRoom ? tooManyBodies() : overloaded(lane);
          }
          bodyBytes += bytes;
          inProgress.bodyBytes += bytes;
        },
        release: () => {
          releaseSlot?.();
          releaseSlot = undefined;
          if (hasShare && caller !== undefined) transfers.remove(caller, 1);
          hasShare = false;
          releaseBody();
        },
        reacquire: () => {
          releaseBody();
          releaseSlot ??= take(lane, isDownload);
        },
      };
    },
  };
}

/** Amounts per caller: one caller has at most `CALLER_SHARE` of all, but no less than `min`. */
function callerShares(all: number, min: number) {
  const maxOfOne = Math.max(min, Math.ceil(CALLER_SHARE * all));
  const maxAnonymous = Math.max(min, Math.ceil(ANONYMOUS_SHARE * all));
  const byCaller = new Map<string, number>();
  let anonymous = 0;
  return {
    /** Returns false, and adds nothing, if the share would be exceeded. */
    add({ key, isAnonymous }: LimitKey, amount: number): boolean {
      const own = (byCaller.get(key) ?? 0) + amount;
      if (own > maxOfOne || (isAnonymous && anonymous + amount > maxAnonymous)) return false;
      byCaller.set(key, own);
      if (isAnonymous) anonymous += amount;
      return true;
    },
    remove({ key, isAnonymous }: LimitKey, amount: number): void {
      const left = (byCaller.get(key) ?? 0) - amount;
      if (left <= 0) byCaller.delete(key);
      else byCaller.set(key, left);
      if (isAnonymous) anonymous -= amount;
    },
  };
}

function tooManyBodies(): ServiceError {
  return new ServiceError(
    'rate_limited',
    'Too many request bodies from this user or address are arriving at once. Send fewer at once; retry in 1 s.',
    { code: 'too_many_bodies', retryAfterMs: RETRY_AFTER_MS },
  );
}

function tooManyTransfers(): ServiceError {
  return new ServiceError(
    'rate_limited',
    'Too many file transfers of this user or address are running. Retry after one of them has ended.',
    { code: 'too_many_transfers', retryAfterMs: RETRY_AFTER_MS },
  );
}

function overloaded(lane: Exclude<Lane, 'local'>): ServiceError {
  const what = lane === 'transfer' ? 'Too many file transfers are running.' : 'The server is overloaded.';
  return new ServiceError('unavailable', `${what} The request was not processed; retry in 1 s.`, {
    code: 'overloaded',
    retryAfterMs: RETRY_AFTER_MS,
  });
}
