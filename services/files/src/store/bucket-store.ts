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

/** The contents of one entity's bucket. */
export interface BucketDescription {
  entityId: string;
  entries: number;
  pending: number;
  totalBytes: number;
  /** Of all entries, in the order they were started. */
  keys: string[];
}

export interface DescriptionRow {
  entity_id: string;
  entries: number;
  pending: number;
  total_bytes: bigint;
  keys: string[];
}

/** The contents of the buckets of the entities `$1`, as `DescriptionRow`; an empty one has no row. */
export const DESCRIPTIONS = `
  select e.entity_id, count(*)::int as entries,
    (count(*) filter (where e.state = 'pending'))::int as pending,
    coalesce(sum(o.size) filter (where e.state = 'completed'), 0)::bigint as total_bytes,
    array_agg(e.key order by e.position) as keys
  from entry e left join object o on o.id = e.object_id
  where e.entity_id = any($1::text[])
  group by e.entity_id`;

/**
 * One description for each id, in the same order; an unknown bucket counts as an empty one. One statement.
 */
export async function describeEntities(sql: Sql, entityIds: readonly string[]): Promise<BucketDescription[]> {
  return describedAs(entityIds, await sql.$queryRawUnsafe<DescriptionRow[]>(DESCRIPTIONS, entityIds));
}

export function describedAs(
  entityIds: readonly string[],
  rows: readonly DescriptionRow[],
): BucketDescription[] {
  const byId = new Map(rows.map((row) => [row.entity_id, row]));
  return entityIds.map((entityId) => {
    const row = byId.get(entityId);
    if (row === undefined) return { entityId, entries: 0, pending: 0, totalBytes: 0, keys: [] };
    const { entries, pending, keys } = row;
    return { entityId, entries, pending, totalBytes: Number(row.total_bytes), keys };
  });
}
