import { ServiceError } from '@kr/service-error';
import { LRUCache } from 'lru-cache';

export interface AllowanceSize {
  /** How much each key may spend in a minute, evenly. */
  perMinute: number;
  /** For how many minutes a key may save what it does not spend. */
  minutes: number;
}

/** The result of an attempt to spend. */
export interface Spending {
  /** Whether anything was left. */
  isAllowed: boolean;
  /** The tokens that the key has left. */
  remaining: number;
  /** Milliseconds until something is left again; 0 when it is allowed. */
  waitMs: number;
  /** Milliseconds until the bucket of the key is full. */
  fullMs: number;
}

export interface Allowances {
  /**
   * Spends if any tokens are left. The bucket may be overdrawn, so an expensive request waits no longer than
   * others.
   */
  spend(key: string, amount: number): Spending;
  /** Spends, whether anything is left or not. */
  charge(key: string, amount: number): Spending;
}

/** A key that is evicted for others starts with a full bucket again; this many keys are stored. */
const MOST_KEYS = 100_000;

/**
 * An allowance for each key that fills up evenly (a token bucket, kept as the one instant at which it is full: the
 * generic cell rate algorithm).
 *
 * @param elapsed milliseconds on a clock that never goes back
 */
export function openAllowances({ perMinute, minutes }: AllowanceSize, elapsed: () => number): Allowances {
  // In whole microseconds: sums of fractions would be inexact at the last unit.
  const unit = Math.ceil(60_000_000 / perMinute);
  const whole = unit * perMinute * minutes;
  const fullAt = new LRUCache<string, number>({ max: MOST_KEYS });

  function take(key: string, amount: number, { isOwed }: { isOwed: boolean }): Spending {
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
    spend: (key, amount) => take(key, amount, { isOwed: false }),
    charge: (key, amount) => take(key, amount, { isOwed: true }),
  };
}

/** Where headers go. */
export interface HeaderSink {
  setHeader(name: string, value: string | number): unknown;
}

export interface LimitOptions {
  /** As headers name it. */
  policy: string;
  /** The limit in words, for error messages. */
  what: string;
  /** 0: any number. */
  perMinute: number;
  burstMinutes: number;
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
  now: () => Date;
}

/** One limit with a bucket per key; headers show the remaining tokens. */
export interface Limit {
  /** @throws ServiceError `rate_limited`: nothing is left */
  spend(key: string, amount: number, response: HeaderSink): void;
  /** Spends what may not be there. */
  charge(key: string, amount: number, response: HeaderSink): void;
  /** @throws ServiceError `rate_limited`: nothing is left */
  assertLeft(key: string, response: HeaderSink): void;
}

/** Undefined: there is none. */
export function openLimit(options: LimitOptions): Limit | undefined {
  const { perMinute, burstMinutes, elapsed } = options;
  if (perMinute === 0) return undefined;
  const allowances = openAllowances({ perMinute, minutes: burstMinutes }, elapsed);
  const told = (spending: Spending, response: HeaderSink): Spending => {
    tell(response, spending, options);
    return spending;
  };
  return {
    spend(key, amount, response) {
      const spending = told(allowances.spend(key, amount), response);
      if (!spending.isAllowed) throw exceeded(options, spending);
    },
    charge(key, amount, response) {
      told(allowances.charge(key, amount), response);
    },
    assertLeft(key, response) {
      const spending = allowances.spend(key, 0);
      if (!spending.isAllowed) throw exceeded(options, told(spending, response));
    },
  };
}

/** In the words of the IETF's draft (RateLimit header fields for HTTP), and in those of the original's clients. */
function tell(
  response: HeaderSink,
  { isAllowed, remaining, waitMs, fullMs }: Spending,
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

function exceeded({ perMinute, what }: LimitOptions, { waitMs }: Spending): ServiceError {
  return new ServiceError('rate_limited', `Rate limit exceeded: ${perMinute} ${what}.`, {
    code: 'rate_limit_exceeded',
    retryAfterMs: waitMs,
  });
}
