import { setTimeout as pause } from 'node:timers/promises';
import type { EntityKind, IndexedEntity, SearchEngine } from '../engine/search-engine.ts';

/** So many milliseconds, or less where it is to stop. */
export async function pauseUnlessStopped(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** How work on the whole index leaves the processors to searches. */
export interface GiveWay {
  /** Whether there are searches, or were a moment ago. */
  isWanted(): boolean;
  /** Waits in proportion to what was done for so many milliseconds, if there are searches. */
  pauseAfter(workedMs: number): Promise<void>;
}

/** Searches that come one after the other leave gaps; this one is longer. */
const MOMENT_MS = 1_000;
/** After its pause the work waits for searches to end, but not for ever: then they are slow for another reason. */
const LONGEST_WAIT = 4;
/** What takes longer has waited itself, for a service that is away, say. */
const MOST_WORK_MS = 5_000;
const LOOK_EVERY_MS = 20;

/**
 * The engine with its searches watched, and what gives way to them.
 *
 * @param sharePercent of the time, that the work may take while there are searches
 */
export function givingWay<Engine extends Pick<SearchEngine, 'search' | 'suggest'>>(
  engine: Engine,
  sharePercent: number,
  signal: AbortSignal,
): { engine: Engine; giveWay: GiveWay } {
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
    engine: { ...engine, search: watched(engine.search), suggest: watched(engine.suggest) },
    giveWay: {
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
export async function* pagesOf(
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
