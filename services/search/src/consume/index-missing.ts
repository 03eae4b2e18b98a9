import type { EntityForm, SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';

/**
 * Fetches and indexes those of the resources that the index has not heard of yet in the form (`null`: in any), so
 * that who has just written them finds them.
 */
export async function indexMissing(
  engine: SearchEngine,
  source: EntitySource,
  ids: readonly string[],
  form: EntityForm | null,
): Promise<void> {
  if (ids.length === 0) return;
  const missing = await engine.missing(ids, form);
  if (missing.length === 0) return;
  await engine.write({ entities: await source.fetch('record', missing), tombstones: [] });
}
