import { executeWithNext, type Sql, type SqlDatabase } from '@kr/database';
import {
  type BucketDescription,
  DESCRIPTIONS,
  type DescriptionRow,
  describedAs,
  describeEntities,
  findBucket,
  lockOpenBucket,
} from '../store/bucket-store.ts';
import type { Fence, FenceState } from './fence-rules.ts';
import type { HeldBucket, SealOf, SealStore } from './seal-store.ts';

/** Locks what is known of a publication, making a row for it first; undefined when nothing was known. */
async function lockFence(tx: Sql, publicationId: string, now: Date): Promise<Fence | undefined> {
  // An existing row is written unchanged: this waits for the transaction that locks it, and then reads its
  // result.
  const [row] = await tx.$queryRawUnsafe<{ state: FenceState | 'new'; epoch: number }[]>(
    `insert into participant (publication_id, state, epoch, updated_at) values ($1, 'new', 0, $2::timestamptz)
     on conflict (publication_id) do update set updated_at = participant.updated_at
     returning state, epoch`,
    publicationId,
    now.toISOString(),
  );
  return row === undefined || row.state === 'new' ? undefined : { state: row.state, epoch: row.epoch };
}

async function saveFence(tx: Sql, publicationId: string, fence: Fence, now: Date): Promise<void> {
  await executeWithNext(
    tx,
    'update participant set state = $2, epoch = $3::int, updated_at = $4::timestamptz where publication_id = $1',
    publicationId,
    fence.state,
    fence.epoch,
    now.toISOString(),
  );
}

/** Milliseconds of one transaction: changes of one bucket wait for each other. */
const LONGEST_MS = 15_000;

/** Seals on Postgres; every operation is a constant number of statements. */
export function sqlSealStore(database: SqlDatabase): SealStore {
  return {
    outside: database,
    transaction: (run) => database.$transaction(run, { timeout: LONGEST_MS }),
    lockFence,
    saveFence,
    lockBuckets,
    seal,
    applySeal,
    undoSeal,
    makeImmutable,
    sealedBefore,
    describeEntities,
    findBucket,
    lockOpenBucket,
  };
}

async function lockBuckets(
  tx: Sql,
  entityIds: readonly string[],
  newId: () => string,
  at: Date,
): Promise<HeldBucket[]> {
  const ids = inOneOrder(entityIds);
  // As with the fence: a row that is there is written as it is, which locks it and reads what its last holder left.
  return tx.$queryRawUnsafe<HeldBucket[]>(
    `insert into bucket (entity_id, id, state, updated_at)
     select entity_id, id::uuid, 'open', $3::timestamptz
     from unnest($1::text[], $2::text[]) as missing (entity_id, id)
     order by entity_id
     on conflict (entity_id) do update set updated_at = bucket.updated_at
     returning entity_id as "entityId", state, publication_id as "publicationId"`,
    ids,
    ids.map(() => newId()),
    at.toISOString(),
  );
}

async function seal(
  tx: Sql,
  { publicationId, epoch, entityIds }: SealOf,
  at: Date,
): Promise<BucketDescription[]> {
  const rows = await tx.$queryRawUnsafe<DescriptionRow[]>(
    `with sealed as (
       update bucket
       set state = 'sealed', publication_id = $2, sealed_at = $4::timestamptz, updated_at = $4::timestamptz
       where entity_id = any($1::text[]) and state = 'open'
     ), fenced as (
       update participant set state = 'prepared', epoch = $3::int, updated_at = $4::timestamptz
       where publication_id = $2
     )
     ${DESCRIPTIONS}`,
    entityIds,
    publicationId,
    epoch,
    at.toISOString(),
  );
  return describedAs(entityIds, rows);
}

/** The fence keeps the epoch of its seal. */
const FENCED = (state: 'applied' | 'aborted') =>
  `fenced as (
     update participant set state = '${state}', updated_at = $2::timestamptz where publication_id = $1
   )`;

async function applySeal(
  tx: Sql,
  publicationId: string,
  publishedIds: readonly string[] | null,
  at: Date,
): Promise<void> {
  await executeWithNext(
    tx,
    `with ${FENCED('applied')}
     update bucket set publication_id = null, sealed_at = null, updated_at = $2::timestamptz,
       state = case when $3::text[] is null or entity_id = any($3::text[]) then 'immutable' else 'open' end
     where publication_id = $1 and state = 'sealed'`,
    publicationId,
    at.toISOString(),
    publishedIds,
  );
}

async function undoSeal(tx: Sql, publicationId: string, at: Date): Promise<void> {
  await executeWithNext(
    tx,
    `with ${FENCED('aborted')}
     update bucket set state = 'open', publication_id = null, sealed_at = null, updated_at = $2::timestamptz
     where publication_id = $1 and state = 'sealed'`,
    publicationId,
    at.toISOString(),
  );
}

async function makeImmutable(
  tx: Sql,
  entityIds: readonly string[],
  newId: () => string,
  at: Date,
): Promise<void> {
  const ids = inOneOrder(entityIds);
  await executeWithNext(
    tx,
    `insert into bucket (entity_id, id, state, updated_at)
     select entity_id, id::uuid, 'immutable', $3::timestamptz
     from unnest($1::text[], $2::text[]) as missing (entity_id, id)
     order by entity_id
     on conflict (entity_id) do update set state = 'immutable', publication_id = null, sealed_at = null,
       updated_at = excluded.updated_at`,
    ids,
    ids.map(() => newId()),
    at.toISOString(),
  );
}

async function sealedBefore(sql: Sql, instant: Date, limit: number): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ publication_id: string }[]>(
    `select distinct publication_id from bucket where state = 'sealed' and sealed_at < $1::timestamptz
     limit $2::int`,
    instant.toISOString(),
    limit,
  );
  return rows.map((row) => row.publication_id);
}

/** Two publications that share buckets wait for each other instead of dying. */
function inOneOrder(entityIds: readonly string[]): string[] {
  return [...new Set(entityIds)].sort();
}
