import { ServiceError } from '@kr/service-error';
import type { OverloadConfig } from '../config.ts';
import type { Load } from './load-of.ts';

export interface Admission {
  /**
   * Lets a request in, before anything is read or asked for it.
   *
   * @throws ServiceError `unavailable` (`overloaded`): too much is under way; nothing was done
   */
  enter(load: Load, about?: { isDownload: boolean }): Place;
}

/** One of those that may be under way. */
export interface Place {
  /**
   * Counts a transfer for its caller, once that is known.
   *
   * @throws ServiceError `rate_limited` (`too_many_transfers`): the caller has its share of them, or anonymous callers have theirs
   */
  assign(caller: Caller): void;
  /** Gives it up, once or again. */
  leave(): void;
  /** Takes one again after leaving. @throws ServiceError as `enter` */
  enterAgain(): void;
}

/** A user, or an address of requests without one. */
export interface Caller {
  key: string;
  isAnonymous: boolean;
}

export interface AdmissionDeps {
  config: OverloadConfig;
  /** Told of each refusal. */
  refused: (load: Load) => void;
}

/** The share of the requests that may be searches and changes; the rest is left for reads. */
const MUCH_SHARE = 0.75;
/** Shares of the transfers: of all downloads, so that uploads have room; of anonymous callers; and of one caller. */
const DOWNLOAD_SHARE = 0.8;
const ANONYMOUS_SHARE = 0.6;
const CALLER_SHARE = 0.05;
/** A caller may have this many transfers however few there may be. */
const LEAST_OF_CALLER = 16;
const COME_BACK_MS = 1_000;
const NO_PLACE: Place = { assign: () => undefined, leave: () => undefined, enterAgain: () => undefined };

/** Counts what is under way, and refuses what would be too much of it. */
export function admission({ config, refused }: AdmissionDeps): Admission {
  const { maxRequestsInFlight, maxTransfersInFlight } = config;
  const most = {
    little: maxRequestsInFlight,
    much: Math.ceil(MUCH_SHARE * maxRequestsInFlight),
    transfer: maxTransfersInFlight,
  };
  const mostDownloads = Math.ceil(DOWNLOAD_SHARE * maxTransfersInFlight);
  const underWay = { requests: 0, transfer: 0, downloads: 0 };
  const shares = transferShares(maxTransfersInFlight);

  const take = (load: Exclude<Load, 'none'>, isDownload: boolean): (() => void) => {
    const counted = load === 'transfer' ? 'transfer' : 'requests';
    const isFull = underWay[counted] >= most[load] || (isDownload && underWay.downloads >= mostDownloads);
    if (isFull) {
      refused(load);
      throw overloaded(load);
    }
    underWay[counted] += 1;
    if (isDownload) underWay.downloads += 1;
    return () => {
      underWay[counted] -= 1;
      if (isDownload) underWay.downloads -= 1;
    };
  };

  return {
    enter(load, { isDownload } = { isDownload: false }) {
      if (load === 'none') return NO_PLACE;
      let giveUp: (() => void) | undefined = take(load, isDownload);
      let giveShare: (() => void) | undefined;
      return {
        assign: (caller) => {
          if (load !== 'transfer') return;
          giveShare = shares.take(caller);
          if (giveShare !== undefined) return;
          refused(load);
          throw shareTaken();
        },
        leave: () => {
          giveUp?.();
          giveUp = undefined;
          giveShare?.();
          giveShare = undefined;
        },
        enterAgain: () => {
          giveUp ??= take(load, isDownload);
        },
      };
    },
  };
}

/** Transfers per caller. */
function transferShares(all: number): { take(caller: Caller): (() => void) | undefined } {
  const mostOfOne = Math.max(LEAST_OF_CALLER, Math.ceil(CALLER_SHARE * all));
  const mostAnonymous = Math.max(LEAST_OF_CALLER, Math.ceil(ANONYMOUS_SHARE * all));
  const byCaller = new Map<string, number>();
  let anonymous = 0;
  return {
    take({ key, isAnonymous }) {
      const own = byCaller.get(key) ?? 0;
      if (own >= mostOfOne || (isAnonymous && anonymous >= mostAnonymous)) return undefined;
      byCaller.set(key, own + 1);
      if (isAnonymous) anonymous += 1;
      return () => {
        const left = (byCaller.get(key) ?? 1) - 1;
        if (left === 0) byCaller.delete(key);
        else byCaller.set(key, left);
        if (isAnonymous) anonymous -= 1;
      };
    },
  };
}

function shareTaken(): ServiceError {
  return new ServiceError(
    'rate_limited',
    'Too many file transfers of this caller are running. Wait until one of them has ended.',
    { code: 'too_many_transfers', retryAfterMs: COME_BACK_MS },
  );
}

function overloaded(load: Exclude<Load, 'none'>): ServiceError {
  const what = load === 'transfer' ? 'Too many file transfers are running.' : 'The server is overloaded.';
  return new ServiceError('unavailable', `${what} The request was not processed; retry in 1 s.`, {
    code: 'overloaded',
    retryAfterMs: COME_BACK_MS,
  });
}
