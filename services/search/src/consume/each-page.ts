import type { GiveWay } from './give-way.ts';
import type { IdPage } from './pages-of.ts';

/** So many keep the processors busy: while one is written, the next one is read and taken apart. */
const AT_ONCE = 2;

/**
 * Does something with each page, two of them at once; one at a time, with pauses between, while there are searches.
 *
 * @throws what the first one, or the next page, failed with, once nothing is under way any more
 */
export async function eachPage(
  pages: AsyncIterable<IdPage>,
  { isWanted, pauseAfter }: GiveWay,
  work: (page: IdPage) => Promise<void>,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const begin = (page: IdPage) => {
    const begun = performance.now();
    const working = work(page)
      .then(() => pauseAfter(performance.now() - begun))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(working));
    underWay.add(working);
  };
  try {
    for await (const page of pages) {
      begin(page);
      while (underWay.size >= (isWanted() ? 1 : AT_ONCE)) await Promise.race(underWay);
      if (failures.length > 0) break;
    }
  } finally {
    await Promise.all(underWay);
  }
  if (failures.length > 0) throw failures[0];
}
