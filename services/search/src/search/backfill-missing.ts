import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import type { IndexedEntity } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { fetchReadable } from '../sources/entity-source.ts';

export interface BringMissingDeps {
  index: Pick<SearchIndex, 'write'>;
  source: Pick<EntitySource, 'fetch'>;
  logger: Pick<Logger, 'error'>;
}

/**
 * Waits until resources that the index lacks are in it, for this many milliseconds.
 * @returns whether any were fetched: not if all of them were fetched a moment ago, and are not published
 */
export type BackfillMissing = (ids: readonly string[], timeoutMs: number) => Promise<boolean>;

/** Resources without a published form are not fetched again for this many milliseconds. */
const REMEMBERED_MS = 5_000;
const MOST_REMEMBERED = 10_000;

/** The number fetched together. */
const PORTION = 10;

/** As much is written together, in bytes of JSON, and one at least: more is work for a good part of a second. */
const MOST_TOGETHER = 100_000;

/**
 * Fetches resources that are known to exist into the index, some at a time, until the time is over. The others arrive with
 * their events. Resources that are being fetched for one search are not fetched for others at the same time.
 * @throws ServiceError `unavailable`: the records service is unavailable
 */
export function backfillMissing({ index, source, logger }: BringMissingDeps): BackfillMissing {
  const underWay = new Map<string, Promise<void>>();
  const unpublished = new LRUCache<string, true>({ max: MOST_REMEMBERED, ttl: REMEMBERED_MS });

  const fetchAndWrite = async (ids: readonly string[]): Promise<void> => {
    const { entities } = await fetchReadable(source, logger, 'record', ids);
    for (const staged of together(entities)) await index.write({ staged });
    const published = new Set(entities.flatMap(({ id, form }) => (form === 'published' ? id : [])));
    for (const id of ids) if (!published.has(id)) unpublished.set(id, true);
  };

  const bring = (ids: readonly string[]): Promise<void> => {
    if (ids.length === 0) return Promise.resolve();
    const bringing = fetchAndWrite(ids).finally(() => {
      for (const id of ids) underWay.delete(id);
    });
    for (const id of ids) underWay.set(id, bringing);
    return bringing;
  };

  const bringAll = async (ids: readonly string[], isLate: () => boolean): Promise<void> => {
    for (let start = 0; start < ids.length && !isLate(); start += PORTION) {
      const portion = ids.slice(start, start + PORTION);
      const brought = portion.flatMap((id) => underWay.get(id) ?? []);
      await Promise.all([...new Set(brought), bring(portion.filter((id) => !underWay.has(id)))]);
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
      await Promise.race([bringAll(ids, () => isLate), late.promise]);
      return true;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** In their order, and the forms of one entity beside each other. */
function together(entities: readonly IndexedEntity[]): IndexedEntity[][] {
  const groups: IndexedEntity[][] = [];
  let room = 0;
  for (const entity of entities) {
    if (groups.length === 0 || entity.sizeBytes > room) {
      groups.push([]);
      room = MOST_TOGETHER;
    }
    groups.at(-1)?.push(entity);
    room -= entity.sizeBytes;
  }
  return groups;
}
