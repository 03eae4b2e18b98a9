import { ServiceError } from '@kr/service-error';
import { LRUCache } from 'lru-cache';

export interface BucketSize {
  /** Tokens of each key per minute, added evenly. */
  perMinute: number;
  /** Minutes of unused tokens that a bucket can hold. */
  minutes: number;
}

/** The result of an attempt to take tokens. */
export interface Consumption {
  /** Whether anything was left. */
  isAllowed: boolean;
  /** The tokens that the key has left. */
  remaining: number;
  /** Milliseconds until something is left again; 0 when it is allowed. */
  waitMs: number;
  /** Milliseconds until the bucket of the key is full. */
  fullMs: number;
}

export interface TokenBuckets {
  /**
   * Takes tokens if any are left. The bucket may be overdrawn, so an expensive request waits no longer than
   * others.
   */
  consume(key: string, amount: number): Consumption;
  /** Takes tokens, whether any are left or not. */
  penalize(key: string, amount: number): Consumption;
}

/** A key that is evicted for others starts with a full bucket again; this many keys are stored. */
const MAX_KEYS = 100_000;

/**
 * A token bucket for each key, stored as the one instant at which it is full (generic cell rate algorithm).
 *
 * @param elapsed milliseconds on a clock that never goes back
 */
export function tokenBuckets({ perMinute, minutes }: BucketSize, elapsed: () => number): TokenBuckets {
  // In whole microseconds: sums of fractions would be inexact at the last unit.
  const unit = Math.ceil(60_000_000 / perMinute);
  const whole = unit * perMinute * minutes;
  const fullAt = new LRUCache<string, number>({ max: MAX_KEYS });

  function take(key: string, amount: number, { isOwed }: { isOwed: boolean }): Consumption {
    const now = Math.round(elapsed() * 1_000);
    const spent = Math.max(0, (fullAt.get(key) ?? now) - now);
    const isAllowed = spent + unit <= whole;
    const after = isAllowed || isOwed ? spent + amount * unit : spent;
    if (after > spent) fullAt.set(key, now + after);
    return {
      isAllowed,
      remaining: Math.max(0, Math.floor((whole - after) / unit)),
      waitMs: isAllowed ? 0 : (after + unit - whole) / 1_000,
      fullMs: after / 1_000,
    };
  }

  return {
    consume: (key, amount) => take(key, amount, { isOwed: false }),
    penalize: (key, amount) => take(key, amount, { isOwed: true }),
  };
}

/** Where headers go. */
export interface HeaderSink {
  setHeader(name: string, value: string | number): unknown;
}

export interface LimitOptions {
  /** As headers name it. */
  policy: string;
  /** The counted requests in words, for error messages. */
  what: string;
  /** 0 = unlimited. */
  perMinute: number;
  burstMinutes: number;
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
  now: () => Date;
}

/** One limit with a bucket per key; headers show the remaining tokens. */
export interface Limit {
  /** @throws ServiceError `rate_limited`: nothing is left */
  consume(key: string, amount: number, response: HeaderSink): void;
  /** Takes tokens that may not be there. */
  penalize(key: string, amount: number, response: HeaderSink): void;
  /** @throws ServiceError `rate_limited`: nothing is left */
  assertLeft(key: string, response: HeaderSink): void;
}

/** Undefined: there is none. */
export function openLimit(options: LimitOptions): Limit | undefined {
  const { perMinute, burstMinutes, elapsed } = options;
  if (perMinute === 0) return undefined;
  const buckets = tokenBuckets({ perMinute, minutes: burstMinutes }, elapsed);
  const withHeaders = (consumption: Consumption, response: HeaderSink): Consumption => {
    setHeaders(response, consumption, options);
    return consumption;
  };
  return {
    consume(key, amount, response) {
      const consumption = withHeaders(buckets.consume(key, amount), response);
      if (!consumption.isAllowed) throw exceeded(options, consumption);
    },
    penalize(key, amount, response) {
      withHeaders(buckets.penalize(key, amount), response);
    },
    assertLeft(key, response) {
      const consumption = buckets.consume(key, 0);
      if (!consumption.isAllowed) throw exceeded(options, withHeaders(consumption, response));
    },
  };
}

/** In the words of the IETF's draft (RateLimit header fields for HTTP), and in those of the original's clients. */
function setHeaders(
  response: HeaderSink,
  { isAllowed, remaining, waitMs, fullMs }: Consumption,
  { policy, perMinute, burstMinutes, now }: LimitOptions,
): void {
  const atOnce = perMinute * burstMinutes;
  const untilMs = isAllowed ? fullMs : waitMs;
  response.setHeader('ratelimit-policy', `"${policy}";q=${atOnce};w=${60 * burstMinutes}`);
  response.setHeader('ratelimit', `"${policy}";r=${remaining};t=${Math.ceil(untilMs / 1_000)}`);
  response.setHeader('x-ratelimit-limit', atOnce);
  response.setHeader('x-ratelimit-remaining', remaining);
  response.setHeader('x-ratelimit-reset', Math.ceil((now().getTime() + untilMs) / 1_000));
}

function exceeded({ perMinute, what }: LimitOptions, { waitMs }: Consumption): ServiceError {
  const message = `Too many ${what} (${perMinute} per minute). Retry in ${Math.ceil(waitMs / 1_000)} s.`;
  return new ServiceError('rate_limited', message, { code: 'rate_limit_exceeded', retryAfterMs: waitMs });
}
