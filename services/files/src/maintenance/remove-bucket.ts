import type { ReceivedEvent } from '@kr/event-bus';
import type { FilesContext } from '../context.ts';
import { deleteUnfinished, removeIncomplete } from '../entries/unfinished-uploads.ts';
import { bucketLocked } from '../file-errors.ts';

const CLOSE = `
  insert into bucket (entity_id, id, state, updated_at) values ($1, $2, 'removed', $3)
  on conflict (entity_id) do update set state = 'removed', publication_id = null, sealed_at = null,
    revision = bucket.revision + 1, updated_at = excluded.updated_at
    where bucket.state in ('open', 'removed')`;
const DELETE_ENTRIES = 'delete from entry where entity_id = $1';

/**
 * Empties the bucket of a deleted entity and closes it, also for an upload that starts late.
 * Published files stay. May be repeated.
 * @throws ServiceError - `unavailable`: the bucket is sealed and the coordinator cannot be reached - `conflict` (code `draft_locked`):
 * sealed by an undecided publication
 */
async function removeBucket(deps: FilesContext, entityId: string): Promise<void> {
  const { database, seals, finishPublications, now, newId, logger } = deps;
  const bucket = await seals.findBucket(database, entityId);
  if (bucket?.state === 'sealed' && bucket.publicationId !== null)
    await finishPublications([bucket.publicationId]);
  const uploads = await database.$transaction(async (tx) => {
    if ((await tx.$executeRawUnsafe(CLOSE, entityId, newId(), now())) === 0) return undefined;
    const uploads = await deleteUnfinished(tx, entityId, 'all');
    await tx.$executeRawUnsafe(DELETE_ENTRIES, entityId);
    return uploads;
  });
  if (uploads !== undefined) return removeIncomplete(deps, uploads);
  if ((await seals.findBucket(database, entityId))?.state !== 'immutable') throw bucketLocked();
  logger.error(
    { entityId },
    'files of a published entity were not deleted, although an event announced its deletion',
  );
}

const CHANGE = 'update bucket set revision = revision + 1, updated_at = $2 where entity_id = $1';

/** Deletes the files of a published entity whose retention after its removal is over. Safe to repeat. */
async function purgeBucket({ database, now }: FilesContext, entityId: string): Promise<void> {
  await database.$transaction(async (tx) => {
    await tx.$executeRawUnsafe(CHANGE, entityId, now());
    await tx.$executeRawUnsafe(DELETE_ENTRIES, entityId);
  });
}

const NEXT_BUCKETS = `
  select entity_id as "entityId", state from bucket
  where entity_id > $1
    and (state = 'open'
      or (state = 'immutable' and exists (select from entry where entry.entity_id = bucket.entity_id)))
  order by entity_id limit 500`;

/**
 * Removes the open buckets of deleted entities and the files of purged entities whose events were lost. A
 * bucket is never older than its draft, so one that is listed here without an entity will never have one.
 * @throws ServiceError `unavailable`: a service cannot be reached
 */
export async function removeLostBuckets(deps: FilesContext): Promise<void> {
  const { database, findEntityIds, logger } = deps;
  let removed = 0;
  let purged = 0;
  for (let afterId = ''; ; ) {
    const buckets: { entityId: string; state: 'open' | 'immutable' }[] = await database.$queryRawUnsafe(
      NEXT_BUCKETS,
      afterId,
    );
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

export const GONE = [
  'knowledge.records.draft.deleted',
  'knowledge.packages.draft.deleted',
  'knowledge.records.record.purged',
  'knowledge.packages.package.purged',
] as const;

/** Files end with a draft that was never published, and with the retention of an entity that was removed. */
export function onEntityGone(deps: FilesContext) {
  return async (events: readonly ReceivedEvent<(typeof GONE)[number]>[]): Promise<void> => {
    for (const { payload } of events) {
      if (!('isPublished' in payload)) await purgeBucket(deps, payload.id);
      else if (!payload.isPublished) await removeBucket(deps, payload.id);
    }
  };
}
