import { setTimeout as sleep } from 'node:timers/promises';

export interface Arrivals {
  /** How many begin in a second, on average. */
  perSecond: number;
  seconds: number;
  /** Begins one piece of work without waiting for the previous ones. Never rejects. */
  begin: () => Promise<void>;
  random?: () => number;
}

/** Milliseconds for started work to finish. */
const LAST_MS = 60_000;

/**
 * Starts work at random times (a Poisson process), independent of the completion of earlier work.
 * Resolves when all of it is done.
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
