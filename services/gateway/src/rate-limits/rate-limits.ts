import type { RateLimitConfig } from '../config.ts';
import type { Origin } from '../http/client-address.ts';
import type { Weight } from '../http/endpoint.ts';
import { credentialTries, type TryCredentials } from './credential-tries.ts';
import { type HeaderSink, openLimit } from './limit.ts';

/** Whom a request counts for, and as how much. */
export interface Counted {
  /** Null: nobody is known, so it counts for the address. */
  userId: string | null;
  weight: Weight;
}

export interface RateLimits {
  /**
   * Counts a request for its caller and tells in headers what is left.
   *
   * @throws ServiceError `rate_limited`: nothing is left
   */
  count(request: Origin, response: HeaderSink, counted: Counted): void;
  /** Counts milliseconds of work for a counted request, beyond those that its weight stands for. */
  timeCost(request: Origin, response: HeaderSink, counted: Counted): (ms: number) => void;
  /** Names the user, or the address of a request without one. */
  callerOf(request: Origin, userId: string | null): string;
  /** What the request with this response was counted as; undefined if it was not counted. */
  countedAs(response: HeaderSink): Counted | undefined;
  tryCredentials: TryCredentials;
}

export interface RateLimitsDeps {
  config: RateLimitConfig;
  clientAddressOf: (request: Origin) => string;
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
  now: () => Date;
}

/** Milliseconds of work in a service that one unit of an allowance stands for. */
const MS_PER_UNIT = 20;

/** How much a caller may ask for: users by who they are, all others by where they come from. */
export function rateLimits({ config, clientAddressOf, elapsed, now }: RateLimitsDeps): RateLimits {
  const clocks = { burstMinutes: config.burstMinutes, elapsed, now };
  const users = openLimit({
    policy: 'user',
    what: 'requests a minute of one user',
    perMinute: config.userPerMinute,
    ...clocks,
  });
  const anonymous = openLimit({
    policy: 'anonymous',
    what: 'requests a minute without credentials of a user from one address',
    perMinute: config.anonymousPerMinute,
    ...clocks,
  });
  const failures = openLimit({
    policy: 'failed-credentials',
    what: 'requests a minute with credentials that are worth nothing from one address',
    perMinute: config.failedCredentialsPerMinute,
    ...clocks,
  });
  const amounts = { nothing: 0, one: 1, ...config.weights } satisfies Record<Weight, number>;
  const counted = new WeakMap<HeaderSink, Counted>();

  return {
    count(request, response, { userId, weight }) {
      counted.set(response, { userId, weight });
      if (amounts[weight] === 0) return;
      if (userId === null) anonymous?.spend(clientAddressOf(request), amounts[weight], response);
      else users?.spend(userId, amounts[weight], response);
    },
    timeCost(request, response, { userId, weight }) {
      let paid = amounts[weight];
      let totalMs = 0;
      return (ms) => {
        // Operators can exempt requests from the limits.
        if (paid === 0) return;
        totalMs += ms;
        const due = Math.floor(totalMs / MS_PER_UNIT) - paid;
        if (due <= 0) return;
        paid += due;
        if (userId === null) anonymous?.charge(clientAddressOf(request), due, response);
        else users?.charge(userId, due, response);
      };
    },
    callerOf: (request, userId) =>
      userId === null ? `address ${clientAddressOf(request)}` : `user ${userId}`,
    countedAs: (response) => counted.get(response),
    tryCredentials: credentialTries({ limit: failures, clientAddressOf, elapsed }),
  };
}
