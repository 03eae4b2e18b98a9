import { setTimeout as sleep } from 'node:timers/promises';

/** Holds work back, so that no more bytes pass in a second than are allowed. */
export type Pace = (bytes: number, signal: AbortSignal) => Promise<void>;

/** What was not used of one second is not made up for in the next. */
const MOST_SAVED_MS = 1_000;

/** @param elapsed counts milliseconds and never goes back */
export function paceOf(bytesPerSecond: number, elapsed: () => number): Pace {
  let isFreeAt = elapsed();
  return async (bytes, signal) => {
    const at = elapsed();
    isFreeAt = Math.max(isFreeAt, at - MOST_SAVED_MS) + (bytes / bytesPerSecond) * 1_000;
    if (isFreeAt > at) await sleep(isFreeAt - at, undefined, { signal });
  };
}

export const UNPACED: Pace = async () => {};
