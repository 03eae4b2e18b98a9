import { setTimeout as sleep } from 'node:timers/promises';

export interface Arrivals {
  /** How many begin in a second, on average. */
  perSecond: number;
  seconds: number;
  /** Begins one piece of work; nobody waits for its end before the next begins. Never rejects. */
  begin: () => Promise<void>;
  random?: () => number;
}

/** How long those that have begun may still take, in milliseconds. */
const LAST_MS = 60_000;

/**
 * Lets work arrive as many independent people bring it (a Poisson process): whether or not what came before is done.
 * Resolves when all of it is.
 */
export async function arrive({ perSecond, seconds, begin, random = Math.random }: Arrivals): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const start = performance.now();
  for (let due = 0; ; ) {
    due += (-Math.log(1 - random()) / perSecond) * 1_000;
    if (due > seconds * 1_000) break;
    const early = due - (performance.now() - start);
    if (early > 1) await sleep(early);
    const work: Promise<void> = begin().finally(() => underWay.delete(work));
    underWay.add(work);
  }
  await Promise.race([Promise.all(underWay), sleep(LAST_MS, undefined, { ref: false })]);
}
