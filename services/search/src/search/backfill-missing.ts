import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import type { IndexedEntity } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { fetchReadable } from '../sources/entity-source.ts';

export interface BackfillDeps {
  index: Pick<SearchIndex, 'write'>;
  source: Pick<EntitySource, 'fetch'>;
  logger: Pick<Logger, 'error'>;
}

/**
 * Waits until resources that the index lacks are in it, for this many milliseconds.
 * @returns whether any were fetched: not if all of them were fetched a moment ago, and are not published
 */
export type BackfillMissing = (ids: readonly string[], timeoutMs: number) => Promise<boolean>;

/** Milliseconds until resources without a published form are fetched again. */
const REMEMBERED_MS = 5_000;
const MAX_REMEMBERED = 10_000;

/** Resources per fetch. */
const PORTION = 10;

/** Bytes of JSON in one write, unless one entity has more: larger writes take a good part of a second. */
const MAX_WRITE_BYTES = 100_000;

/**
 * Indexes resources that exist but are missing in the index, some at a time, until the time is over. The others arrive with
 * their events. Resources that are being fetched for one search are not fetched for others at the same time.
 * @throws ServiceError `unavailable`: the records service is unavailable
 */
export function backfillMissing({ index, source, logger }: BackfillDeps): BackfillMissing {
  const fetching = new Map<string, Promise<void>>();
  const unpublished = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS });

  const fetchAndWrite = async (ids: readonly string[]): Promise<void> => {
    const { entities } = await fetchReadable(source, logger, 'record', ids);
    for (const staged of groupsOf(entities)) await index.write({ staged });
    const published = new Set(entities.flatMap(({ id, form }) => (form === 'published' ? id : [])));
    for (const id of ids) if (!published.has(id)) unpublished.set(id, true);
  };

  const backfill = (ids: readonly string[]): Promise<void> => {
    if (ids.length === 0) return Promise.resolve();
    const running = fetchAndWrite(ids).finally(() => {
      for (const id of ids) fetching.delete(id);
    });
    for (const id of ids) fetching.set(id, running);
    return running;
  };

  const backfillAll = async (ids: readonly string[], isLate: () => boolean): Promise<void> => {
    for (let start = 0; start < ids.length && !isLate(); start += PORTION) {
      const portion = ids.slice(start, start + PORTION);
      const others = portion.flatMap((id) => fetching.get(id) ?? []);
      await Promise.all([...new Set(others), backfill(portion.filter((id) => !fetching.has(id)))]);
    }
  };

  return async (missing, timeoutMs) => {
    const ids = missing.filter((id) => !unpublished.has(id));
    if (ids.length === 0) return false;
    const late = Promise.withResolvers<void>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      late.resolve();
    }, timeoutMs);
    try {
      // A late fetch is not awaited: its later error is ignored.
      await Promise.race([backfillAll(ids, () => isLate), late.promise]);
      return true;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Groups of limited size, in the given order. */
function groupsOf(entities: readonly IndexedEntity[]): IndexedEntity[][] {
  const groups: IndexedEntity[][] = [];
  let room = 0;
  for (const entity of entities) {
    if (groups.length === 0 || entity.sizeBytes > room) {
      groups.push([]);
      room = MAX_WRITE_BYTES;
    }
    groups.at(-1)?.push(entity);
    room -= entity.sizeBytes;
  }
  return groups;
}
