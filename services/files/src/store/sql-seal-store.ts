import type { HeldBucket, SealStore } from '../buckets/seal-store.ts';
import { type BucketState, findBucket, lockOpenBucket } from './bucket-store.ts';
import { describeEntities } from './describe-entities.ts';
import { lockFence, saveFence } from './fence-store.ts';
import type { Database, Tx } from './prisma.ts';

/** Seals on Postgres; every operation is a constant number of statements. */
export function sqlSealStore(database: Database): SealStore {
  return {
    outside: database,
    transaction: (run) => database.$transaction(run),
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
  tx: Tx,
  entityIds: readonly string[],
  newId: () => string,
  at: Date,
): Promise<HeldBucket[]> {
  const ids = inOneOrder(entityIds);
  await tx.$executeRaw`
    insert into bucket (entity_id, id, state, updated_at)
    select entity_id, id::uuid, 'open', ${at}
    from unnest(${ids}::text[], ${ids.map(() => newId())}::text[]) as missing(entity_id, id)
    order by entity_id
    on conflict (entity_id) do nothing`;
  const rows = await tx.$queryRaw<{ entity_id: string; state: BucketState; publication_id: string | null }[]>`
    select entity_id, state, publication_id from bucket where entity_id = any(${ids}::text[])
    order by entity_id for update`;
  return rows.map((row) => ({
    entityId: row.entity_id,
    state: row.state,
    publicationId: row.publication_id,
  }));
}

async function seal(tx: Tx, publicationId: string, entityIds: readonly string[], at: Date): Promise<void> {
  await tx.$executeRaw`
    update bucket set state = 'sealed', publication_id = ${publicationId}, sealed_at = ${at}, updated_at = ${at}
    where entity_id = any(${[...entityIds]}::text[]) and state = 'open'`;
}

async function applySeal(
  tx: Tx,
  publicationId: string,
  publishedIds: readonly string[] | null,
  at: Date,
): Promise<void> {
  await tx.$executeRaw`
    update bucket set publication_id = null, sealed_at = null, updated_at = ${at},
      state = case when ${publishedIds === null}::boolean or entity_id = any(${[...(publishedIds ?? [])]}::text[])
        then 'immutable' else 'open' end
    where publication_id = ${publicationId} and state = 'sealed'`;
}

async function undoSeal(tx: Tx, publicationId: string, at: Date): Promise<void> {
  await tx.$executeRaw`
    update bucket set state = 'open', publication_id = null, sealed_at = null, updated_at = ${at}
    where publication_id = ${publicationId} and state = 'sealed'`;
}

async function makeImmutable(
  tx: Tx,
  entityIds: readonly string[],
  newId: () => string,
  at: Date,
): Promise<void> {
  const ids = inOneOrder(entityIds);
  await tx.$executeRaw`
    insert into bucket (entity_id, id, state, updated_at)
    select entity_id, id::uuid, 'immutable', ${at}
    from unnest(${ids}::text[], ${ids.map(() => newId())}::text[]) as missing(entity_id, id)
    on conflict (entity_id) do update set state = 'immutable', publication_id = null, sealed_at = null,
      updated_at = excluded.updated_at`;
}

async function sealedBefore(tx: Tx, instant: Date, limit: number): Promise<string[]> {
  const rows = await tx.$queryRaw<{ publication_id: string }[]>`
    select distinct publication_id from bucket where state = 'sealed' and sealed_at < ${instant} limit ${limit}`;
  return rows.map((row) => row.publication_id);
}

/** Two publications that share buckets wait for each other instead of dying. */
function inOneOrder(entityIds: readonly string[]): string[] {
  return [...new Set(entityIds)].sort();
}
