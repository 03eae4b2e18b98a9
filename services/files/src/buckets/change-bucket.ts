import { ServiceError } from '@kr/service-error';
import { bucketImmutable, bucketLocked } from '../file-errors.ts';
import { type Bucket, findBucket, type LockedBucket, lockOpenBucket } from '../store/bucket-store.ts';
import type { Database, Tx } from '../store/prisma.ts';
import type { SettlePublications } from './settle-publications.ts';

export interface ChangeBucketDeps {
  database: Database;
  settle: SettlePublications;
  now: () => Date;
  newId: () => string;
  /** Called after a change is durable, so that its events leave at once. */
  nudgeRelay: () => void;
}

type Attempt<T> = { value: T } | { sealedBy: string };

/**
 * Every change of a bucket's entries passes here: one short transaction that holds the bucket's row, so that no
 * change crosses a seal. A seal that is met is settled with the coordinator once.
 *
 * @throws ServiceError
 *   - `conflict` (code `draft_locked`): sealed by a publication that is not decided
 *   - `forbidden`: published
 *   - `not_found`: the entity is gone
 *   - `unavailable`: sealed, and the coordinator cannot be asked
 */
export async function changeBucket<T>(
  deps: ChangeBucketDeps,
  entityId: string,
  change: (tx: Tx, bucket: LockedBucket) => Promise<T>,
): Promise<T> {
  const value = await settlingSeals(deps, () =>
    deps.database.$transaction(async (tx): Promise<Attempt<T>> => {
      const bucket = await lockOpenBucket(tx, entityId, deps.newId(), deps.now());
      if (bucket !== undefined) return { value: await change(tx, bucket) };
      return { sealedBy: sealOf(await findBucket(tx, entityId)) };
    }),
  );
  deps.nudgeRelay();
  return value;
}

/** Fails as `changeBucket` would, before a client has sent bytes in vain. */
export async function checkChangeable(
  deps: Pick<ChangeBucketDeps, 'database' | 'settle'>,
  entityId: string,
): Promise<void> {
  await settlingSeals(deps, async (): Promise<Attempt<undefined>> => {
    const bucket = await findBucket(deps.database, entityId);
    if (bucket === undefined || bucket.state === 'open') return { value: undefined };
    return { sealedBy: sealOf(bucket) };
  });
}

async function settlingSeals<T>(
  { settle }: Pick<ChangeBucketDeps, 'settle'>,
  attempt: () => Promise<Attempt<T>>,
): Promise<T> {
  const first = await attempt();
  if ('value' in first) return first.value;
  await settle([first.sealedBy]);
  const second = await attempt();
  if ('value' in second) return second.value;
  throw bucketLocked();
}

/** The publication that sealed the bucket. @throws ServiceError when it is closed for another reason */
function sealOf(bucket: Bucket | undefined): string {
  if (bucket?.state === 'immutable') throw bucketImmutable();
  if (bucket?.state === 'sealed' && bucket.publicationId !== null) return bucket.publicationId;
  throw new ServiceError('not_found', 'The persistent identifier does not exist.');
}
