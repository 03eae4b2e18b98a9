import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@kr/service-error';
import type { RateLimitConfig } from '../config.ts';
import type { Route } from '../http/endpoint.ts';
import { openAllowances, type Spending } from './allowances.ts';

/** Whom a request counts for, and as how much. */
export interface Counted {
  /** Null: nobody is known, so it counts for the address. */
  userId: string | null;
  /** As the routes see it; `OPTIONS` and most of `HEAD` count for nothing. */
  method: string | undefined;
  weight?: Route['weight'];
}

export interface RateLimits {
  /**
   * Counts a request for its caller and tells in headers what is left.
   *
   * @throws ServiceError `rate_limited`: nothing is left for such a request
   */
  count(request: IncomingMessage, response: ServerResponse, counted: Counted): void;
}

export interface RateLimitsDeps {
  config: RateLimitConfig;
  clientAddressOf: (request: IncomingMessage) => string;
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
  now: () => Date;
}

interface Limit {
  /** As headers name it. */
  policy: string;
  /** As people are told of it. */
  who: string;
  variable: string;
  perMinute: number;
}

/** How much a caller may ask for: users by who they are, all others by where they come from. */
export function rateLimits({ config, clientAddressOf, elapsed, now }: RateLimitsDeps): RateLimits {
  const { burstMinutes } = config;
  const open = (limit: Limit) =>
    limit.perMinute === 0
      ? undefined
      : { ...limit, spend: openAllowances({ perMinute: limit.perMinute, minutes: burstMinutes }, elapsed) };
  const users = open({
    policy: 'user',
    who: 'of one user',
    variable: 'RATE_LIMIT_USER',
    perMinute: config.userPerMinute,
  });
  const anonymous = open({
    policy: 'anonymous',
    who: 'without credentials of a user from one address',
    variable: 'RATE_LIMIT_ANONYMOUS',
    perMinute: config.anonymousPerMinute,
  });

  return {
    count(request, response, { userId, ...asked }) {
      const limit = userId === null ? anonymous : users;
      const amount = amountOf(asked, config);
      if (limit === undefined || amount === 0) return;
      const spending = limit.spend(userId ?? clientAddressOf(request), amount);
      tell(response, { ...limit, spending, burstMinutes, now: now() });
      if (!spending.isAllowed) throw exceeded(limit, spending);
    },
  };
}

function amountOf({ method, weight }: Omit<Counted, 'userId'>, { weights }: RateLimitConfig): number {
  if (method === 'OPTIONS') return 0;
  // What searches is no small question, whether its answer is looked at or not.
  if (method === 'HEAD' && weight !== 'search') return 0;
  return weight === undefined ? 1 : weights[weight];
}

/** In the words of the IETF's draft (RateLimit header fields for HTTP), and in those of the original's clients. */
function tell(
  response: ServerResponse,
  told: Limit & { spending: Spending; burstMinutes: number; now: Date },
): void {
  const { policy, perMinute, spending, burstMinutes, now } = told;
  const { isAllowed, remaining, waitMs, fullMs } = spending;
  const atOnce = perMinute * burstMinutes;
  const untilMs = isAllowed ? fullMs : waitMs;
  response.setHeader('ratelimit-policy', `"${policy}";q=${atOnce};w=${60 * burstMinutes}`);
  response.setHeader('ratelimit', `"${policy}";r=${remaining};t=${Math.ceil(untilMs / 1_000)}`);
  response.setHeader('x-ratelimit-limit', atOnce);
  response.setHeader('x-ratelimit-remaining', remaining);
  response.setHeader('x-ratelimit-reset', Math.ceil((now.getTime() + untilMs) / 1_000));
}

function exceeded({ perMinute, who, variable }: Limit, { waitMs }: Spending): ServiceError {
  return new ServiceError(
    'rate_limited',
    `Rate limit exceeded: ${perMinute} requests a minute ${who} (${variable}).`,
    { code: 'rate_limit_exceeded', retryAfterMs: waitMs },
  );
}
