import { setTimeout as pause } from 'node:timers/promises';
import { ENTITY_KINDS, type EntityKind, type IndexedEntity } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';

/** Waits for these milliseconds, or less if the signal aborts. */
export async function pauseUnlessStopped(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** Gives searches precedence over work on the whole index. */
export interface Throttle {
  /** Whether there are searches, or were in the last second. */
  hasSearches(): boolean;
  /** Pauses in proportion to the duration of the work, if there are searches. */
  pauseAfter(workedMs: number): Promise<void>;
}

/** Longer than the gaps between consecutive searches. */
const SEARCH_GAP_MS = 1_000;
/** The pause lasts until searches end, but not longer than this multiple of it: slow searches have other reasons too. */
const MAX_PAUSES = 4;
/** Longer work included waiting, for example for an unavailable service. */
const MAX_WORK_MS = 5_000;
const CHECK_EVERY_MS = 20;

/**
 * The engine with its searches observed, and the throttle for background work.
 * @param sharePercent of the time that the work may use while there are searches
 */
export function withThrottle<Engine extends Pick<SearchIndex, 'search' | 'suggest'>>(
  index: Engine,
  sharePercent: number,
  signal: AbortSignal,
): { index: Engine; throttle: Throttle } {
  let running = 0;
  let lastEnded = Number.NEGATIVE_INFINITY;
  const watched =
    <Request extends unknown[], Answer>(query: (...request: Request) => Promise<Answer>) =>
    async (...request: Request): Promise<Answer> => {
      running += 1;
      try {
        return await query(...request);
      } finally {
        running -= 1;
        lastEnded = performance.now();
      }
    };
  const hasSearches = () => running > 0 || performance.now() - lastEnded < SEARCH_GAP_MS;
  return {
    index: { ...index, search: watched(index.search), suggest: watched(index.suggest) },
    throttle: {
      hasSearches,
      pauseAfter: async (workedMs) => {
        const pauseMs = Math.min(workedMs, MAX_WORK_MS) * (100 / sharePercent - 1);
        const startedAt = performance.now();
        const hasPaused = (ms: number) => performance.now() - startedAt >= ms;
        while (hasSearches() && !signal.aborted && !hasPaused(pauseMs * MAX_PAUSES)) {
          if (running === 0 && hasPaused(pauseMs)) return;
          await pauseUnlessStopped(CHECK_EVERY_MS, signal);
        }
      },
    },
  };
}

/** The maximum number of ids on the next page of a kind. */
export type PageSize = (kind: EntityKind) => number;

export interface IdPage {
  kind: EntityKind;
  ids: readonly string[];
}

/** All ids page by page, the records before the packages; ends early at the signal. */
export async function* listIdPages(
  list: (kind: EntityKind, afterId: string, limit: number) => Promise<readonly string[]>,
  size: PageSize,
  signal: AbortSignal,
): AsyncGenerator<IdPage> {
  for (const kind of ENTITY_KINDS) {
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

/** While one page is written, the next one is read and tokenised. */
const CONCURRENT_PAGES = 2;

/**
 * The fixed cost of a page is small in comparison to this many bytes of JSON; larger pages may exceed the
 * memory.
 */
const PAGE_BYTES = 1_500_000;
/** The size of the first page of a kind, from which the next ones follow. */
const FIRST_PAGE = 20;
const MIN_PAGE = 5;
/** Events wait until a page is written. */
const MAX_PAGE = 500;
const MAX_PAGE_DURING_SEARCHES = 100;

/**
 * Runs the work on each page, two pages at once; one at a time, with pauses, while there are searches. The smaller the
 * entities, the more ids a page has.
 * @param pages returns the number of ids for the next page of a kind, before it is listed
 * @param work returns the bytes of JSON of the page
 * @throws the error of the first page that failed, after all running work has ended
 */
export async function forEachPage(
  pages: (size: PageSize) => AsyncIterable<IdPage>,
  { hasSearches, pauseAfter }: Throttle,
  work: (page: IdPage) => Promise<number>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const pageSizes: Record<EntityKind, number> = { record: FIRST_PAGE, package: FIRST_PAGE };
  const size: PageSize = (kind) =>
    Math.min(pageSizes[kind], hasSearches() ? MAX_PAGE_DURING_SEARCHES : MAX_PAGE);
  const start = (page: IdPage) => {
    const startedAt = performance.now();
    const working = work(page)
      .then((bytes) => {
        const { kind, ids } = page;
        const count = Math.floor((ids.length * PAGE_BYTES) / Math.max(bytes, 1));
        pageSizes[kind] = Math.max(MIN_PAGE, Math.min(count, pageSizes[kind] * 2, MAX_PAGE));
        return pauseAfter(performance.now() - startedAt);
      })
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(working));
    running.add(working);
  };
  try {
    for await (const page of pages(size)) {
      start(page);
      while (running.size >= (hasSearches() ? 1 : CONCURRENT_PAGES)) await Promise.race(running);
      if (failures.length > 0) break;
    }
  } finally {
    await Promise.all(running);
  }
  if (failures.length > 0) throw failures[0];
}

/** Of the JSON. */
export function bytesOf(entities: readonly IndexedEntity[]): number {
  return entities.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
