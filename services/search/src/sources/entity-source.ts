import type { EntityKind, IndexedEntity } from '../engine/search-engine.ts';

/** The services that own the entities, as the index sees them. */
export interface EntitySource {
  /** Both forms, as far as there are any, of each entity, as they are at this moment. */
  fetch(kind: EntityKind, ids: readonly string[]): Promise<IndexedEntity[]>;
  /** So many ids at most after a position (exclusive, empty: from the start), in their order; empty at the end. */
  list(kind: EntityKind, afterId: string, limit: number): Promise<string[]>;
}
