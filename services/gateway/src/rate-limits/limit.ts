import { ServiceError } from '@kr/service-error';
import { openAllowances, type Spending } from './allowances.ts';

/** Where headers go. */
export interface HeaderSink {
  setHeader(name: string, value: string | number): unknown;
}

export interface LimitOptions {
  /** As headers name it. */
  policy: string;
  /** What it allows so many of, as people are told. */
  what: string;
  /** 0: any number. */
  perMinute: number;
  burstMinutes: number;
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
  now: () => Date;
}

/** One limit, for each key by itself; headers tell what is left of it. */
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
