const MAX_ATTEMPTS = 6;
const MAX_WAIT_MS = 60_000;
const FIRST_BACKOFF_MS = 250;

/** Why an attempt did not work out: an answer with its Retry-After header, or no answer at all. */
export type Setback =
  | { status: number; retryAfter: string | undefined }
  /** `isSent`: whether the service may have got the request. */
  | { status: undefined; isSent: boolean };

/**
 * Milliseconds until a request is sent again; undefined when it must not be. 429 and 503 mean
 * that nothing was done. Without an answer the effect is unknown, so only idempotent requests are repeated.
 */
export function retryDelayMs(
  setback: Setback,
  { attempt, isRepeatable, now = Date.now }: { attempt: number; isRepeatable: boolean; now?: () => number },
): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  const backoffMs = FIRST_BACKOFF_MS * 2 ** (attempt - 1);
  if (setback.status === undefined) return isRepeatable || !setback.isSent ? backoffMs : undefined;
  if (setback.status !== 429 && setback.status !== 503) return undefined;
  const askedMs = retryAfterMs(setback.retryAfter, now());
  if (askedMs === undefined) return backoffMs;
  return askedMs > MAX_WAIT_MS ? undefined : Math.max(askedMs, FIRST_BACKOFF_MS);
}

/** RFC 9110, 10.2.3: seconds or a date. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
