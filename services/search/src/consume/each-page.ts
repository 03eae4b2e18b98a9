import type { EntityKind, IndexedEntity } from '../engine/search-engine.ts';
import type { GiveWay } from './give-way.ts';
import type { IdPage, PageSize } from './pages-of.ts';

/** So many keep the processors busy: while one is written, the next one is read and taken apart. */
const AT_ONCE = 2;

/** What is done once for each page is little beside so much of it, in bytes of JSON; for more there may be no memory. */
const PAGE_BYTES = 1_500_000;
/** The first ones of a kind tell how large the others are. */
const FIRST = 20;
/** Events wait until a page is written. */
const [FEWEST, MOST] = [5, 500];
/** Beside searches. */
const MOST_BESIDE = 100;

/**
 * Does something with each page, two of them at once; one at a time, with pauses between, while there are searches. Pages
 * have the more ids the smaller what is behind them.
 *
 * @param pages asks how many ids of a kind the next one is to have, before it is listed
 * @param work tells how many bytes of JSON were behind the ids
 * @throws what the first one, or the next page, failed with, once nothing is under way any more
 */
export async function eachPage(
  pages: (size: PageSize) => AsyncIterable<IdPage>,
  { isWanted, pauseAfter }: GiveWay,
  work: (page: IdPage) => Promise<number>,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const fitting: Record<EntityKind, number> = { record: FIRST, package: FIRST };
  const size: PageSize = (kind) => Math.min(fitting[kind], isWanted() ? MOST_BESIDE : MOST);
  const begin = (page: IdPage) => {
    const begun = performance.now();
    const working = work(page)
      .then((bytes) => {
        const { kind, ids } = page;
        const count = Math.floor((ids.length * PAGE_BYTES) / Math.max(bytes, 1));
        fitting[kind] = Math.max(FEWEST, Math.min(count, fitting[kind] * 2, MOST));
        return pauseAfter(performance.now() - begun);
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

/** Of the JSON. */
export function bytesOf(entities: readonly IndexedEntity[]): number {
  return entities.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
