import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '@kr/telemetry';
import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { rebuildIndex } from './rebuild-index.ts';

/** Fills an index that never was to its end, however much events have brought; tries until it is or shall stop. */
export async function fillIndex(
  engine: SearchEngine,
  source: EntitySource,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      if (await engine.isFilled()) return;
      const entities = await rebuildIndex(engine, source, signal);
      if (signal.aborted) return;
      await engine.markFilled();
      logger.info({ entities }, 'index filled');
      return;
    } catch (error) {
      // The services may start later than this one, or be away for a while.
      if (failures === 0) logger.info({ err: error }, 'index cannot be filled yet, trying on');
      await pause(Math.min(500 * 2 ** failures, 10_000), undefined, { signal }).catch(() => undefined);
    }
  }
}
