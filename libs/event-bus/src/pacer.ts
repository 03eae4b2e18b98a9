import { pause } from './pause.ts';

/** Lets work begin at most once in a while, unless somebody waits for it. */
export interface Pacer {
  /** Resolves when the next piece may begin, or at the signal. */
  turn(signal: AbortSignal): Promise<void>;
  /** Disables all delays until the returned function is called. */
  hurry(): () => void;
}

export function createPacer(everyMs: number, now: () => number): Pacer {
  let last = Number.NEGATIVE_INFINITY;
  let hurried = 0;
  let held = new AbortController();
  return {
    turn: async (signal) => {
      // No longer than that, however far the clock was set back.
      const left = Math.min(last + everyMs - now(), everyMs);
      if (left > 0 && hurried === 0) {
        held = new AbortController();
        await pause(left, AbortSignal.any([signal, held.signal]));
      }
      last = now();
    },
    hurry: () => {
      hurried += 1;
      held.abort();
      return () => {
        hurried -= 1;
      };
    },
  };
}
