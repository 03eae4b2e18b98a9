import { isTransient } from '@kr/service-error';
import { counter, type Logger } from '@kr/telemetry';
import { ENTITY_KINDS, type EntityKind, type IndexedEntity } from '../documents/entity.ts';
import type { Tombstone } from '../engine/search-engine.ts';

/** The services that own the entities, as the index sees them. */
export interface EntitySource {
  /**
   * The present forms of each entity. `onRemoved` is called for published forms that an
   * administrator has removed.
   */
  fetch(
    kind: EntityKind,
    ids: readonly string[],
    onRemoved?: (removed: Tombstone) => void,
  ): Promise<IndexedEntity[]>;
  /**
   * At most this many ids after a position (exclusive, empty: from the start), in order; empty at the end.
   */
  list(kind: EntityKind, afterId: string, limit: number): Promise<string[]>;
}

export interface EntityRef {
  id: string;
  kind: EntityKind;
}

/** Both forms of entities of any kind, each kind from its service, concurrently. */
export async function fetchEntities(
  source: EntitySource,
  entities: readonly EntityRef[],
  onRemoved?: (removed: Tombstone) => void,
): Promise<IndexedEntity[]> {
  const fetched = await Promise.all(
    ENTITY_KINDS.map(async (kind) => {
      const ids = entities.filter((entity) => entity.kind === kind).map(({ id }) => id);
      return ids.length === 0 ? [] : source.fetch(kind, ids, onRemoved);
    }),
  );
  return fetched.flat();
}

export interface Readable {
  entities: IndexedEntity[];
  /** Entities that cannot be read, also when retried, with the reasons. */
  unreadable: { id: string; error: Error }[];
}

/** If more than this cannot be read, and no other can, their content is not the reason. */
const MAX_UNREADABLE = 10;

const skipped = counter(
  'search',
  {
    name: 'search_unreadable_entities',
    description: 'Unreadable entities skipped by index builds and drift checks.',
  },
  [{}],
);

/**
 * As `EntitySource.fetch`, but an entity that is too large or malformed is omitted.
 *
 * @throws ServiceError when a service is unavailable, or when none of many entities can be read
 */
export async function fetchReadable(
  source: Pick<EntitySource, 'fetch'>,
  logger: Pick<Logger, 'error'>,
  kind: EntityKind,
  ids: readonly string[],
): Promise<Readable> {
  const entities: IndexedEntity[] = [];
  const unreadable: Readable['unreadable'] = [];
  const read = async (some: readonly string[]): Promise<void> => {
    try {
      entities.push(...(await source.fetch(kind, some)));
    } catch (error) {
      const [id] = some;
      if (isTransient(error) || id === undefined) throw error;
      if (some.length > 1) {
        const half = Math.ceil(some.length / 2);
        await read(some.slice(0, half));
        await read(some.slice(half));
        return;
      }
      unreadable.push({ id, error: error instanceof Error ? error : new Error(String(error)) });
      if (unreadable.length > MAX_UNREADABLE && entities.length === 0) throw error;
    }
  };
  await read(ids);
  for (const { id, error } of unreadable) {
    skipped({});
    logger.error({ err: error, kind, id }, 'an entity cannot be read, the index lacks it');
  }
  return { entities, unreadable };
}
