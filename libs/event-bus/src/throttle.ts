import { createSignal } from './signal.ts';

export type Throttle = ReturnType<typeof createThrottle>;

/** Limits how often work begins, unless a caller waits for it. */
export function createThrottle(everyMs: number, now: () => number) {
  const bypassed = createSignal();
  let last = Number.NEGATIVE_INFINITY;
  let bypasses = 0;
  return {
    /** Resolves when the next piece of work may begin, or at the signal. */
    acquire: async (signal: AbortSignal): Promise<void> => {
      // Bounded by the interval, also when the clock was set back.
      const ms = Math.min(last + everyMs - now(), everyMs);
      if (ms > 0 && bypasses === 0) await bypassed.wait(bypassed.count, { ms, signal });
      last = now();
    },
    /** Disables all delays while `work` runs. */
    bypass: async <Result>(work: () => Promise<Result>): Promise<Result> => {
      bypasses += 1;
      bypassed.notify();
      try {
        return await work();
      } finally {
        bypasses -= 1;
      }
    },
  };
}
