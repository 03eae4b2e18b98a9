import type { Logger } from '@kr/telemetry';
import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import type { GiveWay } from './give-way.ts';
import { pauseUnlessStopped } from './pause-unless-stopped.ts';
import { rebuildIndex } from './rebuild-index.ts';

export interface FillIndexDeps {
  engine: SearchEngine;
  source: EntitySource;
  giveWay: GiveWay;
  /** Whether the index has taken in every event of what was committed before the call. */
  hasArrived: () => Promise<boolean>;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Fills an index that never was to its end, however much events have brought; tries until it is or shall stop. What it
 * brings appears at once, and only after the events of all that was published meanwhile: a page may have been read
 * before a publication and the next one after it.
 */
export async function fillIndex({
  engine,
  source,
  giveWay,
  hasArrived,
  logger,
  signal,
}: FillIndexDeps): Promise<void> {
  let filled: Awaited<ReturnType<typeof rebuildIndex>> | undefined;
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      if (await engine.isFilled()) return;
      filled ??= await rebuildIndex({ engine, source, giveWay, logger, signal });
      if (signal.aborted) return;
      if (!(await hasArrived())) throw new Error('events of what was published meanwhile are on their way');
      await engine.markFilled();
      logger.info(filled, 'index filled');
      return;
    } catch (error) {
      // The services may start later than this one, or be away for a while.
      if (failures === 0) logger.info({ err: error }, 'index cannot be filled yet, trying on');
      await pauseUnlessStopped(Math.min(500 * 2 ** failures, 10_000), signal);
    }
  }
}
