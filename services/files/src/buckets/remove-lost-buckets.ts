import { purgeBucket, type RemoveBucketDeps, removeBucket } from './remove-bucket.ts';

/** Which of these ids records or packages have, draft or published, and which of them are purged. */
export type FindEntityIds = (
  ids: readonly string[],
) => Promise<{ known: ReadonlySet<string>; purged: ReadonlySet<string> }>;

export interface RemoveLostBucketsDeps extends RemoveBucketDeps {
  findEntityIds: FindEntityIds;
}

const PAGE = 500;

/**
 * Removes the open buckets of entities that are gone and the files of purged entities, when events that said so were lost. A
 * bucket is never older than its draft, so one that is listed here and has no entity will not get one.
 *
 * @throws ServiceError `unavailable`: a service cannot be asked
 */
export async function removeLostBuckets(deps: RemoveLostBucketsDeps): Promise<void> {
  const { database, findEntityIds, logger } = deps;
  let removed = 0;
  let purged = 0;
  for (let afterId = ''; ; ) {
    const buckets = await database.bucket.findMany({
      where: {
        entityId: { gt: afterId },
        OR: [{ state: 'open' }, { state: 'immutable', entries: { some: {} } }],
      },
      select: { entityId: true, state: true },
      orderBy: { entityId: 'asc' },
      take: PAGE,
    });
    const last = buckets.at(-1);
    if (last === undefined) break;
    const found = await findEntityIds(buckets.map(({ entityId }) => entityId));
    for (const { entityId, state } of buckets) {
      if (state === 'open' && !found.known.has(entityId)) {
        await removeBucket(deps, entityId);
        removed += 1;
      } else if (state === 'immutable' && found.purged.has(entityId)) {
        await purgeBucket(deps, entityId);
        purged += 1;
      }
    }
    afterId = last.entityId;
  }
  logger.info({ removed, purged }, 'buckets compared with records and packages');
}
