import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';

/**
 * Indexes everything there is, page by page in id order, beside whatever events bring meanwhile: the newer state of
 * each form wins. May be stopped and begun again.
 *
 * @returns the number of entities
 */
export async function rebuildIndex(
  engine: SearchEngine,
  source: EntitySource,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for (const kind of ['record', 'package'] as const) {
    let afterId = '';
    while (!signal.aborted) {
      const ids = await source.list(kind, afterId);
      const last = ids.at(-1);
      if (last === undefined) break;
      await engine.write({ unannounced: await source.fetch(kind, ids) });
      count += ids.length;
      afterId = last;
    }
  }
  return count;
}
