import type { GiveWay } from './give-way.ts';
import type { IdPage } from './pages-of.ts';

/** So many keep the processors busy: while one is written, the next one is read and taken apart. */
const AT_ONCE = 2;

/** How long a page should take, for events wait until it is written. What is done once for each is then little beside it. */
const PAGE_MS = 400;
const [FEWEST, FIRST, MOST] = [10, 100, 500];
/** Beside searches. */
const MOST_BESIDE = 100;

/**
 * Does something with each page, two of them at once; one at a time, with pauses between, while there are searches. Pages
 * are as large as the ones before were fast.
 *
 * @param pages how many ids the next one is to have is asked before it is listed
 * @throws what the first one, or the next page, failed with, once nothing is under way any more
 */
export async function eachPage(
  pages: (size: () => number) => AsyncIterable<IdPage>,
  { isWanted, pauseAfter }: GiveWay,
  work: (page: IdPage) => Promise<void>,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let fitting = FIRST;
  const size = () => Math.min(fitting, isWanted() ? MOST_BESIDE : MOST);
  const begin = (page: IdPage) => {
    const begun = performance.now();
    const working = work(page)
      .then(() => {
        const workedMs = performance.now() - begun;
        const fast = Math.floor((page.ids.length * PAGE_MS) / Math.max(workedMs, 1));
        fitting = Math.max(FEWEST, Math.min(fast, fitting * 2, MOST));
        return pauseAfter(workedMs);
      })
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(working));
    underWay.add(working);
  };
  try {
    for await (const page of pages(size)) {
      begin(page);
      while (underWay.size >= (isWanted() ? 1 : AT_ONCE)) await Promise.race(underWay);
      if (failures.length > 0) break;
    }
  } finally {
    await Promise.all(underWay);
  }
  if (failures.length > 0) throw failures[0];
}
