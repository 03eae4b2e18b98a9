import { pause } from './pause.ts';

/** Notifies all current waiters. */
export interface News {
  announce(): void;
  /** Resolves with the next announcement. */
  next(): Promise<void>;
}

export function createNews(): News {
  let coming = Promise.withResolvers<void>();
  return {
    announce: () => {
      coming.resolve();
      coming = Promise.withResolvers();
    },
    next: () => coming.promise,
  };
}

/** A bounded wait. */
export interface Wait {
  /** Milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Aborted when the timeout of a wait expires, or when its waiter leaves. */
export function endOf({ timeoutMs, signal }: Wait): AbortSignal {
  const timer = AbortSignal.timeout(Math.max(0, Math.ceil(timeoutMs)));
  return signal === undefined ? timer : AbortSignal.any([timer, signal]);
}

const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 50;

/**
 * Looks until what is looked for is there: at once, after every piece of news, and now and then, because what happens
 * in other processes is no news here. False when the wait ended first.
 */
export async function lookUntil(
  look: () => Promise<boolean>,
  news: News,
  ending: AbortSignal,
): Promise<boolean> {
  for (let ms = FIRST_LOOK_MS; !ending.aborted; ms = Math.min(LAST_LOOK_MS, ms * 2)) {
    // Taken before the look, so that nothing is missed between the two.
    const next = news.next();
    if (await look()) return true;
    const heard = new AbortController();
    await Promise.race([next, pause(ms, AbortSignal.any([ending, heard.signal]))]);
    heard.abort();
  }
  return false;
}
