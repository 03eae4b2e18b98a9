import type { ErrorRequestHandler } from 'express';
import type { RateLimitConfig } from '../config.ts';
import type { Origin } from '../http/client-address.ts';
import { errorAnswer } from '../http/error-response.ts';
import { HttpProblem } from '../http/http-problem.ts';
import type { Cost, Route } from '../http/route.ts';
import { failedLoginLimit, type TryCredentials } from './failed-login-limit.ts';
import { type HeaderSink, openLimit } from './limit.ts';

/** Rate-limit cost of a request. `HEAD` does the work of `GET` and costs as much. */
export function costOf(
  { auth, cost }: Pick<Route, 'auth' | 'cost'>,
  { isKnown }: { isKnown: boolean },
): Cost {
  return auth !== 'open' && !isKnown ? 'one' : (cost ?? 'one');
}

/** The caller that a request counts for, and its cost. */
export interface Counted {
  /** Null: anonymous, so it counts for the address. */
  userId: string | null;
  cost: Cost;
}

export interface RateLimits {
  /**
   * Counts a request for its caller and sets the headers with the remaining tokens.
   * @throws ServiceError `rate_limited`: none are left
   */
  count(request: Origin, response: HeaderSink, counted: Counted): void;
  /** Charges milliseconds of work for a counted request, beyond those included in its cost. */
  timeCost(request: Origin, response: HeaderSink, counted: Counted): (ms: number) => void;
  /** Names the user, or the address of a request without one. */
  requesterId(request: Origin, userId: string | null): string;
  /** How the request of this response was counted; undefined if it was not. */
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

/** Milliseconds of a service's work per token. */
const MS_PER_UNIT = 20;

/** The rate limits of callers: of users by id, of all others by address. */
export function rateLimits({ config, clientAddressOf, elapsed, now }: RateLimitsDeps): RateLimits {
  const clocks = { burstMinutes: config.burstMinutes, elapsed, now };
  const users = openLimit({
    policy: 'user',
    what: 'requests of this user',
    perMinute: config.userPerMinute,
    ...clocks,
  });
  const anonymous = openLimit({
    policy: 'anonymous',
    what: 'anonymous requests from this address',
    perMinute: config.anonymousPerMinute,
    ...clocks,
  });
  const failures = openLimit({
    policy: 'failed-credentials',
    what: 'failed sign-ins from this address',
    perMinute: config.failedCredentialsPerMinute,
    ...clocks,
  });
  const amounts = { nothing: 0, one: 1, ...config.costs } satisfies Record<Cost, number>;
  const counted = new WeakMap<HeaderSink, Counted>();

  return {
    count(request, response, { userId, cost }) {
      counted.set(response, { userId, cost });
      if (amounts[cost] === 0) return;
      if (userId === null) anonymous?.consume(clientAddressOf(request), amounts[cost], response);
      else users?.consume(userId, amounts[cost], response);
    },
    timeCost(request, response, { userId, cost }) {
      let paid = amounts[cost];
      let totalMs = 0;
      return (ms) => {
        // Operators can exempt requests from the limits.
        if (paid === 0) return;
        totalMs += ms;
        const due = Math.floor(totalMs / MS_PER_UNIT) - paid;
        if (due <= 0) return;
        paid += due;
        if (userId === null) anonymous?.penalize(clientAddressOf(request), due, response);
        else users?.penalize(userId, due, response);
      };
    },
    requesterId: (request, userId) =>
      userId === null ? `address ${clientAddressOf(request)}` : `user ${userId}`,
    countedAs: (response) => counted.get(response),
    tryCredentials: failedLoginLimit({ limit: failures, clientAddressOf, elapsed }),
  };
}

/**
 * Counts refused requests that cost nothing until then: those refused before authentication (no such path or method,
 * malformed) for the address, and refused chunks of uploads for their caller.
 */
export function countRefusals(rateLimits: Pick<RateLimits, 'count' | 'countedAs'>): ErrorRequestHandler {
  return (thrown: unknown, request, response, next) => {
    const counted = rateLimits.countedAs(response);
    if (counted === undefined) {
      // The router reports a path that is not UTF-8 as a URIError.
      const isRefusal = thrown instanceof HttpProblem || thrown instanceof URIError;
      if (isRefusal) rateLimits.count(request, response, { userId: null, cost: 'one' });
    } else if (counted.cost === 'nothing' && !response.headersSent && isCallersFault(thrown)) {
      rateLimits.count(request, response, { ...counted, cost: 'one' });
    }
    next(thrown);
  };
}

/** Overload (429) and failures of services are not. */
function isCallersFault(thrown: unknown): boolean {
  const { status } = errorAnswer(thrown);
  return status >= 400 && status < 500 && status !== 429;
}
