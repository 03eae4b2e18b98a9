import type { Tx } from './prisma.ts';

export type BucketState = 'open' | 'sealed' | 'immutable' | 'removed';

export interface Bucket {
  state: BucketState;
  /** The publication that sealed it; null unless sealed. */
  publicationId: string | null;
}

/** A bucket whose row this transaction holds. */
export interface LockedBucket {
  entityId: string;
  /** The bucket's change number, already raised for the change that is about to be made. */
  revision: number;
}

export async function findBucket(db: Tx, entityId: string): Promise<Bucket | undefined> {
  const row = await db.bucket.findUnique({
    where: { entityId },
    select: { state: true, publicationId: true },
  });
  return row === null ? undefined : { state: row.state as BucketState, publicationId: row.publicationId };
}

/** Locks an open bucket for one change, making it first where there is none; undefined when it is not open. */
export async function lockOpenBucket(
  tx: Tx,
  entityId: string,
  newBucketId: string,
  now: Date,
): Promise<LockedBucket | undefined> {
  const rows = await tx.$queryRaw<{ revision: bigint }[]>`
    insert into bucket (entity_id, id, state, revision, updated_at)
    values (${entityId}, ${newBucketId}::uuid, 'open', 1, ${now})
    on conflict (entity_id) do update set revision = bucket.revision + 1, updated_at = excluded.updated_at
      where bucket.state = 'open'
    returning revision`;
  const [row] = rows;
  return row === undefined ? undefined : { entityId, revision: Number(row.revision) };
}
