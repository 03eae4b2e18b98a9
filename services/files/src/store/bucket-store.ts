import type { Sql } from '@kr/database';

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

export async function findBucket(sql: Sql, entityId: string): Promise<Bucket | undefined> {
  const [row] = await sql.$queryRawUnsafe<Bucket[]>(
    'select state, publication_id as "publicationId" from bucket where entity_id = $1',
    entityId,
  );
  return row;
}

/** Locks an open bucket for one change, making it first where there is none; undefined when it is not open. */
export async function lockOpenBucket(
  tx: Sql,
  entityId: string,
  newBucketId: string,
  now: Date,
): Promise<LockedBucket | undefined> {
  const [row] = await tx.$queryRawUnsafe<{ revision: bigint }[]>(
    `insert into bucket (entity_id, id, state, revision, updated_at)
     values ($1, $2::uuid, 'open', 1, $3::timestamptz)
     on conflict (entity_id) do update set revision = bucket.revision + 1, updated_at = excluded.updated_at
       where bucket.state = 'open'
     returning revision`,
    entityId,
    newBucketId,
    now.toISOString(),
  );
  return row === undefined ? undefined : { entityId, revision: Number(row.revision) };
}
