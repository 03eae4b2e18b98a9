import { type RemoveBucketDeps, removeBucket } from './remove-bucket.ts';

export interface RemoveLostBucketsDeps extends RemoveBucketDeps {
  /** Which of these ids records or packages have, draft or published. */
  findEntityIds: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
}

const PAGE = 500;

/**
 * Removes the open buckets of entities that are gone, when events that said so were lost. A bucket is never older than its
 * draft, so one that is listed here and has no entity will not get one.
 *
 * @throws ServiceError `unavailable`: a service cannot be asked
 */
export async function removeLostBuckets(deps: RemoveLostBucketsDeps): Promise<void> {
  const { database, findEntityIds, logger } = deps;
  let removed = 0;
  for (let afterId = ''; ; ) {
    const buckets = await database.bucket.findMany({
      where: { state: 'open', entityId: { gt: afterId } },
      select: { entityId: true },
      orderBy: { entityId: 'asc' },
      take: PAGE,
    });
    const last = buckets.at(-1);
    if (last === undefined) break;
    const ids = buckets.map(({ entityId }) => entityId);
    const known = await findEntityIds(ids);
    for (const id of ids.filter((one) => !known.has(one))) {
      await removeBucket(deps, id);
      removed += 1;
    }
    afterId = last.entityId;
  }
  logger.info({ removed }, 'buckets compared with records and packages');
}
