import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { pagesOf } from './pages-of.ts';

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
  for await (const { kind, ids } of pagesOf(source.list, signal)) {
    await engine.write({ unannounced: await source.fetch(kind, ids) });
    count += ids.length;
  }
  return count;
}
