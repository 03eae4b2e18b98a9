import { ServiceError } from '@kr/service-error';
import { counter } from '@kr/telemetry';
import type { OverloadConfig } from '../config.ts';
import type { Lane } from '../http/route.ts';

const LANES: readonly Lane[] = ['read', 'write', 'search', 'transfer'];

/** Counts the requests that were refused because too much was under way. */
export function countRejected(): (lane: Lane) => void {
  const count = counter(
    '@kr/gateway',
    {
      name: 'http_server_requests_refused',
      description: 'Requests that were answered 503 at once because too much was under way.',
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
   * Counts a transfer for its caller, once that is known.
   *
   * @throws ServiceError `rate_limited` (`too_many_transfers`): the caller has its share of them, or anonymous callers have theirs
   */
  assign(caller: Caller): void;
  /**
   * Counts bytes of a body that is arriving, until `release` or `reacquire`.
   *
   * @throws ServiceError
   *   - `rate_limited` (`too_many_bodies`): the caller, or anonymous callers together, have their share
   *   - `unavailable` (`overloaded`): the bodies of all callers are at their limit
   */
  holdBody(bytes: number): void;
  /** Releases the slot; may be called again. */
  release(): void;
  /** Takes a slot again after the release. @throws ServiceError as `acquire` */
  reacquire(): void;
}

/** A user, or an address of requests without one. */
export interface Caller {
  key: string;
  isAnonymous: boolean;
}

export interface ConcurrencyLimitDeps {
  config: OverloadConfig;
  /** Bytes of the largest body. */
  bodyMaxBytes: number;
  /** Called for each refusal. */
  refused: (lane: Lane) => void;
}

/** The share of the requests that may be searches and changes; the rest is left for reads. */
const EXPENSIVE_SHARE = 0.75;
/** Shares of the transfers: of all downloads, so that uploads have room; of anonymous callers; and of one caller. */
const DOWNLOAD_SHARE = 0.8;
const ANONYMOUS_SHARE = 0.6;
const CALLER_SHARE = 0.05;
/** A caller may have this many transfers however few there may be. */
const LEAST_OF_CALLER = 16;
/** Bodies of the largest size whose bytes may be held at once while they arrive: of all callers, and of one caller. */
const MOST_BODIES = 128;
const LEAST_BODIES_OF_CALLER = 8;
const COME_BACK_MS = 1_000;
const NO_PERMIT: Permit = {
  assign: () => undefined,
  holdBody: () => undefined,
  release: () => undefined,
  reacquire: () => undefined,
};

/** Counts what is under way, and refuses what would be too much of it. */
export function concurrencyLimit({ config, bodyMaxBytes, refused }: ConcurrencyLimitDeps): ConcurrencyLimit {
  const { maxRequestsInFlight, maxTransfersInFlight } = config;
  const mostExpensive = Math.ceil(EXPENSIVE_SHARE * maxRequestsInFlight);
  const most = {
    read: maxRequestsInFlight,
    write: mostExpensive,
    search: mostExpensive,
    transfer: maxTransfersInFlight,
  };
  const mostDownloads = Math.ceil(DOWNLOAD_SHARE * maxTransfersInFlight);
  const underWay = { requests: 0, transfer: 0, downloads: 0, bodyBytes: 0 };
  const transfers = callerShares(maxTransfersInFlight, LEAST_OF_CALLER);
  const mostBodyBytes = MOST_BODIES * bodyMaxBytes;
  const bodies = callerShares(mostBodyBytes, LEAST_BODIES_OF_CALLER * bodyMaxBytes);

  const take = (lane: Exclude<Lane, 'local'>, isDownload: boolean): (() => void) => {
    const counted = lane === 'transfer' ? 'transfer' : 'requests';
    const isFull = underWay[counted] >= most[lane] || (isDownload && underWay.downloads >= mostDownloads);
    if (isFull) {
      refused(lane);
      throw overloaded(lane);
    }
    underWay[counted] += 1;
    if (isDownload) underWay.downloads += 1;
    return () => {
      underWay[counted] -= 1;
      if (isDownload) underWay.downloads -= 1;
    };
  };

  return {
    acquire(lane, { isDownload } = { isDownload: false }) {
      if (lane === 'local') return NO_PERMIT;
      let giveUp: (() => void) | undefined = take(lane, isDownload);
      let caller: Caller | undefined;
      let hasShare = false;
      let bodyBytes = 0;
      const releaseBody = () => {
        if (caller !== undefined) bodies.remove(caller, bodyBytes);
        underWay.bodyBytes -= bodyBytes;
        bodyBytes = 0;
      };
      return {
        assign: (known) => {
          caller = known;
          if (lane !== 'transfer') return;
          hasShare = transfers.add(known, 1);
          if (hasShare) return;
          refused(lane);
          throw tooManyTransfers();
        },
        holdBody: (bytes) => {
          if (caller === undefined) return;
          const hasRoom = underWay.bodyBytes + bytes <= mostBodyBytes;
          if (!hasRoom || !bodies.add(caller, bytes)) {
            refused(lane);
            throw hasRoom ? tooManyBodies() : overloaded(lane);
          }
          bodyBytes += bytes;
          underWay.bodyBytes += bytes;
        },
        release: () => {
          giveUp?.();
          giveUp = undefined;
          if (hasShare && caller !== undefined) transfers.remove(caller, 1);
          hasShare = false;
          releaseBody();
        },
        reacquire: () => {
          releaseBody();
          giveUp ??= take(lane, isDownload);
        },
      };
    },
  };
}

/** Amounts per caller: one caller has at most `CALLER_SHARE` of all, but no less than `least`. */
function callerShares(all: number, least: number) {
  const mostOfOne = Math.max(least, Math.ceil(CALLER_SHARE * all));
  const mostAnonymous = Math.max(least, Math.ceil(ANONYMOUS_SHARE * all));
  const byCaller = new Map<string, number>();
  let anonymous = 0;
  return {
    /** Returns false, and adds nothing, if the share would be exceeded. */
    add({ key, isAnonymous }: Caller, amount: number): boolean {
      const own = (byCaller.get(key) ?? 0) + amount;
      if (own > mostOfOne || (isAnonymous && anonymous + amount > mostAnonymous)) return false;
      byCaller.set(key, own);
      if (isAnonymous) anonymous += amount;
      return true;
    },
    remove({ key, isAnonymous }: Caller, amount: number): void {
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
    'Too many request bodies of this caller are arriving. Wait until one of them has ended.',
    { code: 'too_many_bodies', retryAfterMs: COME_BACK_MS },
  );
}

function tooManyTransfers(): ServiceError {
  return new ServiceError(
    'rate_limited',
    'Too many file transfers of this caller are running. Wait until one of them has ended.',
    { code: 'too_many_transfers', retryAfterMs: COME_BACK_MS },
  );
}

function overloaded(lane: Exclude<Lane, 'local'>): ServiceError {
  const what = lane === 'transfer' ? 'Too many file transfers are running.' : 'The server is overloaded.';
  return new ServiceError('unavailable', `${what} The request was not processed; retry in 1 s.`, {
    code: 'overloaded',
    retryAfterMs: COME_BACK_MS,
  });
}
