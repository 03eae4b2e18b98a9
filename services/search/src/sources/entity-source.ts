import type { EntityKind, IndexedEntity, Tombstone } from '../engine/search-engine.ts';

/** The services that own the entities, as the index sees them. */
export interface EntitySource {
  /**
   * Both forms, as far as there are any, of each entity, as they are at this moment. `onRemoved` is called for published forms that an
   * administrator has removed.
   */
  fetch(
    kind: EntityKind,
    ids: readonly string[],
    onRemoved?: (removed: Tombstone) => void,
  ): Promise<IndexedEntity[]>;
  /** So many ids at most after a position (exclusive, empty: from the start), in their order; empty at the end. */
  list(kind: EntityKind, afterId: string, limit: number): Promise<string[]>;
}
