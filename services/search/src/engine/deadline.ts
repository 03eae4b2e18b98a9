/** The end of the time that one search has in the engine. */
export interface Deadline {
  /** Whole milliseconds until then, at least 0. */
  leftMs(): number;
}

/** @param elapsed milliseconds of a monotonic clock */
export function deadlineIn(timeoutMs: number, elapsed: () => number = () => performance.now()): Deadline {
  const endsAt = elapsed() + timeoutMs;
  return { leftMs: () => Math.max(0, Math.floor(endsAt - elapsed())) };
}
