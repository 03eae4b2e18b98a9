import type { EntityKind, IndexedEntity, Tombstone } from '../engine/search-engine.ts';
import type { EntitySource } from './entity-source.ts';

export interface KnownEntity {
  id: string;
  kind: EntityKind;
}

/** Both forms of entities of whatever kind, each kind from its service, both at once. */
export async function fetchEntities(
  source: EntitySource,
  entities: readonly KnownEntity[],
  onRemoved?: (removed: Tombstone) => void,
): Promise<IndexedEntity[]> {
  const fetched = await Promise.all(
    (['record', 'package'] as const).map(async (wanted) => {
      const ids = entities.filter(({ kind }) => kind === wanted).map(({ id }) => id);
      return ids.length === 0 ? [] : source.fetch(wanted, ids, onRemoved);
    }),
  );
  return fetched.flat();
}
