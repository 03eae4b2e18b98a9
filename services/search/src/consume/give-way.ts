import type { SearchEngine } from '../engine/search-engine.ts';
import { pauseUnlessStopped } from './pause-unless-stopped.ts';

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
