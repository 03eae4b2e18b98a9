import { setTimeout as pause } from 'node:timers/promises';
import type { EntityKind, IndexedEntity } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';

/** Waits for these milliseconds, or less if the signal aborts. */
export async function pauseUnlessStopped(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** How work on the whole index leaves the processors to searches. */
export interface Throttle {
  /** Whether there are searches, or were a moment ago. */
  isWanted(): boolean;
  /** Pauses in proportion to the duration of the work, if there are searches. */
  pauseAfter(workedMs: number): Promise<void>;
}

/** Consecutive searches leave gaps; this one is longer. */
const MOMENT_MS = 1_000;
/** After its pause the work waits for searches to end, but not for ever: then they are slow for another reason. */
const LONGEST_WAIT = 4;
/** Longer work included waiting, for example for an unavailable service. */
const MOST_WORK_MS = 5_000;
const LOOK_EVERY_MS = 20;

/**
 * The engine with its searches observed, and the throttle for background work.
 * @param sharePercent of the time that the work may use while there are searches
 */
export function withThrottle<Engine extends Pick<SearchIndex, 'search' | 'suggest'>>(
  index: Engine,
  sharePercent: number,
  signal: AbortSignal,
): { index: Engine; throttle: Throttle } {
  let underWay = 0;
  let lastEnded = Number.NEGATIVE_INFINITY;
  const watched =
    <Request extends unknown[], Answer>(ask: (...request: Request) => Promise<Answer>) =>
    async (...request: Request): Promise<Answer> => {
      underWay += 1;
      try {
        return await ask(...request);
      } finally {
        underWay -= 1;
        lastEnded = performance.now();
      }
    };
  const isWanted = () => underWay > 0 || performance.now() - lastEnded < MOMENT_MS;
  return {
    index: { ...index, search: watched(index.search), suggest: watched(index.suggest) },
    throttle: {
      isWanted,
      pauseAfter: async (workedMs) => {
        const pauseMs = Math.min(workedMs, MOST_WORK_MS) * (100 / sharePercent - 1);
        const begun = performance.now();
        const hasPaused = (ms: number) => performance.now() - begun >= ms;
        while (isWanted() && !signal.aborted && !hasPaused(pauseMs * LONGEST_WAIT)) {
          if (underWay === 0 && hasPaused(pauseMs)) return;
          await pauseUnlessStopped(LOOK_EVERY_MS, signal);
        }
      },
    },
  };
}

/** How many ids the next page of a kind has at most. */
export type PageSize = (kind: EntityKind) => number;

export interface IdPage {
  kind: EntityKind;
  ids: readonly string[];
}

/** All ids there are, page by page, the resources before the packages; ends early at the signal. */
export async function* listIdPages(
  list: (kind: EntityKind, afterId: string, limit: number) => Promise<readonly string[]>,
  size: PageSize,
  signal: AbortSignal,
): AsyncGenerator<IdPage> {
  for (const kind of ['record', 'package'] as const) {
    let afterId = '';
    while (!signal.aborted) {
      const ids = await list(kind, afterId, size(kind));
      const last = ids.at(-1);
      if (last === undefined) break;
      yield { kind, ids };
      afterId = last;
    }
  }
}

/** This many use all processors: while one page is written, the next one is read and tokenised. */
const AT_ONCE = 2;

/**
 * The fixed cost of a page is small in comparison to this many bytes of JSON; larger pages may exceed the
 * memory.
 */
const PAGE_BYTES = 1_500_000;
/** The first ones of a kind show the sizes of the others. */
const FIRST = 20;
/** Events wait until a page is written. */
const [FEWEST, MOST] = [5, 500];
/** Beside searches. */
const MOST_BESIDE = 100;

/**
 * Runs the work on each page, two pages at once; one at a time, with pauses, while there are searches. The smaller the
 * entities, the more ids a page has.
 * @param pages returns the number of ids for the next page of a kind, before it is listed
 * @param work returns the bytes of JSON of the page
 * @throws the error of the first page that failed, after all running work has ended
 */
export async function forEachPage(
  pages: (size: PageSize) => AsyncIterable<IdPage>,
  { isWanted, pauseAfter }: Throttle,
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
