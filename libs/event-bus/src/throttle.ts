import { createSignal } from './signal.ts';

/** Limits how often work begins, unless somebody waits for it. */
export interface Throttle {
  /** Resolves when the next piece of work may begin, or at the signal. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Disables all delays while `work` runs. */
  bypass<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createThrottle(everyMs: number, now: () => number): Throttle {
  const bypassed = createSignal();
  let last = Number.NEGATIVE_INFINITY;
  let bypasses = 0;
  return {
    acquire: async (signal) => {
      // Bounded by the interval, also when the clock was set back.
      const ms = Math.min(last + everyMs - now(), everyMs);
      if (ms > 0 && bypasses === 0) await bypassed.wait(bypassed.count, { ms, signal });
      last = now();
    },
    bypass: async (work) => {
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
