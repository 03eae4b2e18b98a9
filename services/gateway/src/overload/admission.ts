import { ServiceError } from '@kr/service-error';
import type { OverloadConfig } from '../config.ts';
import type { Load } from './load-of.ts';

export interface Admission {
  /**
   * Lets a request in, before anything is read or asked for it.
   *
   * @throws ServiceError `unavailable` (`overloaded`): too much is under way; nothing was done
   */
  enter(load: Load): Place;
}

/** One of those that may be under way. */
export interface Place {
  /** Gives it up, once or again. */
  leave(): void;
  /** Takes one again after leaving. @throws ServiceError as `enter` */
  enterAgain(): void;
}

export interface AdmissionDeps {
  config: OverloadConfig;
  /** Told of each refusal. */
  refused: (load: Load) => void;
}

/** The share of the requests that may be searches and changes; the rest is left for reads. */
const MUCH_SHARE = 0.75;
const COME_BACK_MS = 1_000;
const NO_PLACE: Place = { leave: () => undefined, enterAgain: () => undefined };

/** Counts what is under way, and refuses what would be too much of it. */
export function admission({ config, refused }: AdmissionDeps): Admission {
  const { maxRequestsInFlight, maxTransfersInFlight } = config;
  const most = {
    little: maxRequestsInFlight,
    much: Math.ceil(MUCH_SHARE * maxRequestsInFlight),
    transfer: maxTransfersInFlight,
  };
  const underWay = { requests: 0, transfer: 0 };

  const take = (load: Exclude<Load, 'none'>): (() => void) => {
    const counted = load === 'transfer' ? 'transfer' : 'requests';
    if (underWay[counted] >= most[load]) {
      refused(load);
      throw overloaded(load, most[load]);
    }
    underWay[counted] += 1;
    return () => {
      underWay[counted] -= 1;
    };
  };

  return {
    enter(load) {
      if (load === 'none') return NO_PLACE;
      let giveUp: (() => void) | undefined = take(load);
      return {
        leave: () => {
          giveUp?.();
          giveUp = undefined;
        },
        enterAgain: () => {
          giveUp ??= take(load);
        },
      };
    },
  };
}

function overloaded(load: Exclude<Load, 'none'>, most: number): ServiceError {
  const limit = {
    little: `${most} requests are being worked on (MAX_REQUESTS_IN_FLIGHT)`,
    much: `${most} requests are being worked on, the rest of MAX_REQUESTS_IN_FLIGHT is for reads`,
    transfer: `${most} files are being sent or received (MAX_TRANSFERS_IN_FLIGHT)`,
  }[load];
  return new ServiceError('unavailable', `Too much is asked at this moment: ${limit}. Nothing was done.`, {
    code: 'overloaded',
    retryAfterMs: COME_BACK_MS,
  });
}
