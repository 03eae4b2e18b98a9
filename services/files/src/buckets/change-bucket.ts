import type { Sql } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import { bucketImmutable, bucketLocked } from '../file-errors.ts';
import type { Bucket, LockedBucket } from '../store/bucket-store.ts';
import type { SettlePublications } from './publications.ts';
import type { SealStore } from './seal-store.ts';

export interface ChangeBucketDeps<T = Sql> {
  seals: SealStore<T>;
  settle: SettlePublications;
  now: () => Date;
  newId: () => string;
  /** Called after a change is durable, so that its events leave at once. */
  nudgeRelay: () => void;
}

export type Attempt<Value> = { value: Value } | { sealedBy: string };

/**
 * Runs every change of a bucket's entries: one short transaction that locks the bucket's row, so that changes and
 * seals exclude each other. A seal in the way is settled with the coordinator once.
 * @throws ServiceError - `conflict` (code `draft_locked`): sealed by an undecided publication - `forbidden`: published -
 * `not_found`: the entity is deleted - `unavailable`: sealed, and the coordinator cannot be reached
 */
export async function changeBucket<Value, T = Sql>(
  deps: ChangeBucketDeps<T>,
  entityId: string,
  change: (tx: T, bucket: LockedBucket) => Promise<Value>,
): Promise<Value> {
  const { seals } = deps;
  const value = await settlingSeals(deps, () =>
    seals.transaction(async (tx): Promise<Attempt<Value>> => {
      const bucket = await seals.lockOpenBucket(tx, entityId, deps.newId(), deps.now());
      if (bucket !== undefined) return { value: await change(tx, bucket) };
      return { sealedBy: sealOf(await seals.findBucket(tx, entityId)) };
    }),
  );
  deps.nudgeRelay();
  return value;
}

/** Fails as `changeBucket` would, before a client sends bytes. */
export async function checkChangeable<T>(
  { seals, settle }: Pick<ChangeBucketDeps<T>, 'seals' | 'settle'>,
  entityId: string,
): Promise<void> {
  await settlingSeals({ settle }, async (): Promise<Attempt<undefined>> => {
    const bucket = await seals.findBucket(seals.outside, entityId);
    if (bucket === undefined || bucket.state === 'open') return { value: undefined };
    return { sealedBy: sealOf(bucket) };
  });
}

/**
 * Runs a statement, and after the publication that sealed the bucket is settled, once more.
 * @throws ServiceError `conflict` (code `draft_locked`), `unavailable`, as `changeBucket` does
 */
export async function settlingSeals<Value>(
  { settle }: Pick<ChangeBucketDeps, 'settle'>,
  attempt: () => Promise<Attempt<Value>>,
): Promise<Value> {
  const first = await attempt();
  if ('value' in first) return first.value;
  await settle([first.sealedBy]);
  const second = await attempt();
  if ('value' in second) return second.value;
  throw bucketLocked();
}

/** The publication that sealed the bucket. @throws ServiceError when it is closed for another reason */
export function sealOf(bucket: Bucket | undefined): string {
  if (bucket?.state === 'immutable') throw bucketImmutable();
  if (bucket?.state === 'sealed' && bucket.publicationId !== null) return bucket.publicationId;
  throw new ServiceError('not_found', 'The persistent identifier does not exist.');
}
