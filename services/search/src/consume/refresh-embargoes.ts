import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';

const BATCH = 200;

/**
 * Fetches what an embargo has released, so that its documents say so. Who may find it is not waiting for this: a
 * search compares the end of the embargo with the clock.
 */
export async function refreshEmbargoes(engine: SearchEngine, source: EntitySource, now: Date): Promise<void> {
  const passed = await engine.withPassedEmbargo(now, BATCH);
  for (const kind of ['record', 'package'] as const) {
    const ids = passed.filter((entity) => entity.kind === kind).map(({ id }) => id);
    if (ids.length > 0) await engine.write({ unannounced: await source.fetch(kind, ids) });
  }
}
