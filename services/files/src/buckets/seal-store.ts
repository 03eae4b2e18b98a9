import { executeWithNext, type Sql } from '@kr/database';
import type { Participation, ParticipationState } from './participation-rules.ts';

export type BucketState = 'open' | 'sealed' | 'immutable' | 'removed';

export interface Bucket {
  state: BucketState;
  /** The publication that sealed it; null unless sealed. */
  publicationId: string | null;
}

/** A bucket whose row this transaction has locked for one change. */
export interface LockedBucket {
  entityId: string;
  /** The change number of the bucket, already increased for this change. */
  revision: number;
}

/** The contents of the bucket of one entity. */
export interface BucketDescription {
  entityId: string;
  entries: number;
  pending: number;
  totalBytes: number;
  /** Keys of all entries, in the order they were started. */
  keys: string[];
}

/** The buckets that one publication seals. */
export interface Seal {
  publicationId: string;
  /** The coordinator's epoch. */
  epoch: number;
  entityIds: readonly string[];
}

/** Postgres returns `float8` as a number, exact up to 2^53. */
const DESCRIBE = `
  select described.entity_id as "entityId", count(e.key)::int as entries,
    (count(*) filter (where e.state = 'pending'))::int as pending,
    coalesce(sum(o.size) filter (where e.state = 'completed'), 0)::float8 as "totalBytes",
    coalesce(array_agg(e.key order by e.position) filter (where e.key is not null), '{}') as keys
  from unnest($1::text[]) with ordinality as described (entity_id, number)
  left join entry e on e.entity_id = described.entity_id
  left join object o on o.id = e.object_id
  group by described.entity_id, described.number
  order by described.number`;

/** Rows for buckets that do not exist yet, `$1` with the ids `$2`, in one order for all transactions. */
const MISSING = 'from unnest($1::text[], $2::text[]) as missing (entity_id, id) order by entity_id';

/** The participation keeps the epoch of its seal. */
const PARTICIPATED = (state: 'applied' | 'aborted') =>
  `participated as (update participant set state = '${state}', updated_at = $2 where publication_id = $1)`;

/**
 * The statements of publications, and of the changes that seals exclude. Locks are held until the end of the
 * transaction `tx`.
 */
export const sqlSealStore = {
  /** Locks the participation of a publication; undefined if the publication is unknown. */
  async lockParticipation(tx: Sql, publicationId: string, at: Date): Promise<Participation | undefined> {
    // An existing row is written unchanged: this waits for the transaction that locks it, and then reads its
    // result.
    const [row] = await tx.$queryRawUnsafe<{ state: ParticipationState | 'new'; epoch: number }[]>(
      `insert into participant (publication_id, state, epoch, updated_at) values ($1, 'new', 0, $2)
       on conflict (publication_id) do update set updated_at = participant.updated_at
       returning state, epoch`,
      publicationId,
      at,
    );
    return row === undefined || row.state === 'new' ? undefined : { state: row.state, epoch: row.epoch };
  },

  /** Stores an answer that changes no bucket; the participation is locked. */
  async saveParticipation(
    tx: Sql,
    publicationId: string,
    { state, epoch }: Participation,
    at: Date,
  ): Promise<void> {
    await executeWithNext(
      tx,
      'update participant set state = $2, epoch = $3, updated_at = $4 where publication_id = $1',
      publicationId,
      state,
      epoch,
      at,
    );
  },

  /** Locks the buckets of these entities in a fixed order, and creates the missing ones. */
  async lockBuckets(
    tx: Sql,
    entityIds: readonly string[],
    newId: () => string,
    at: Date,
  ): Promise<(Bucket & { entityId: string })[]> {
    const ids = distinct(entityIds);
    // As in `lockFence`: writing an existing row unchanged locks it and reads the result of its last holder.
    return tx.$queryRawUnsafe(
      `insert into bucket (entity_id, id, state, updated_at)
       select entity_id, id::uuid, 'open', $3::timestamptz ${MISSING}
       on conflict (entity_id) do update set updated_at = bucket.updated_at
       returning entity_id as "entityId", state, publication_id as "publicationId"`,
      ids,
      ids.map(newId),
      at,
    );
  },

  /** Seals the open ones among the locked buckets, stores the vote, and returns the contents of all. */
  async seal(tx: Sql, { publicationId, epoch, entityIds }: Seal, at: Date): Promise<BucketDescription[]> {
    return tx.$queryRawUnsafe(
      `with sealed as (
         update bucket set state = 'sealed', publication_id = $2, sealed_at = $4, updated_at = $4
         where entity_id = any($1::text[]) and state = 'open'
       ), participated as (
         update participant set state = 'prepared', epoch = $3, updated_at = $4 where publication_id = $2
       )
       ${DESCRIBE}`,
      entityIds,
      publicationId,
      epoch,
      at,
    );
  },

  /**
   * The buckets sealed by the publication become immutable, except those not listed here, which are opened again;
   * null means all. The decision is stored as applied.
   */
  async applySeal(
    tx: Sql,
    publicationId: string,
    publishedIds: readonly string[] | null,
    at: Date,
  ): Promise<void> {
    await executeWithNext(
      tx,
      `with ${PARTICIPATED('applied')}
       update bucket set publication_id = null, sealed_at = null, updated_at = $2,
         state = case when $3::text[] is null or entity_id = any($3) then 'immutable' else 'open' end
       where publication_id = $1 and state = 'sealed'`,
      publicationId,
      at,
      publishedIds,
    );
  },

  /** The buckets sealed by the publication are opened again, and the decision is stored as aborted. */
  async undoSeal(tx: Sql, publicationId: string, at: Date): Promise<void> {
    await executeWithNext(
      tx,
      `with ${PARTICIPATED('aborted')}
       update bucket set state = 'open', publication_id = null, sealed_at = null, updated_at = $2
       where publication_id = $1 and state = 'sealed'`,
      publicationId,
      at,
    );
  },

  /** Makes buckets immutable, whether they are sealed or not. */
  async makeImmutable(tx: Sql, entityIds: readonly string[], newId: () => string, at: Date): Promise<void> {
    const ids = distinct(entityIds);
    await executeWithNext(
      tx,
      `insert into bucket (entity_id, id, state, updated_at)
       select entity_id, id::uuid, 'immutable', $3::timestamptz ${MISSING}
       on conflict (entity_id) do update set state = 'immutable', publication_id = null, sealed_at = null,
         updated_at = excluded.updated_at`,
      ids,
      ids.map(newId),
      at,
    );
  },

  /** The publications that sealed buckets before an instant. */
  async sealedBefore(sql: Sql, instant: Date, limit: number): Promise<string[]> {
    const rows = await sql.$queryRawUnsafe<{ id: string }[]>(
      `select distinct publication_id as id from bucket where state = 'sealed' and sealed_at < $1 limit $2`,
      instant,
      limit,
    );
    return rows.map(({ id }) => id);
  },

  /** One description for each id, in the same order; an unknown bucket counts as an empty one. */
  async describeEntities(sql: Sql, entityIds: readonly string[]): Promise<BucketDescription[]> {
    return sql.$queryRawUnsafe(DESCRIBE, entityIds);
  },

  async findBucket(sql: Sql, entityId: string): Promise<Bucket | undefined> {
    const [row] = await sql.$queryRawUnsafe<Bucket[]>(
      'select state, publication_id as "publicationId" from bucket where entity_id = $1',
      entityId,
    );
    return row;
  },

  /** Locks an open bucket for one change, after creating a missing one; undefined if it is not open. */
  async lockOpenBucket(
    tx: Sql,
    entityId: string,
    newBucketId: string,
    at: Date,
  ): Promise<LockedBucket | undefined> {
    const [row] = await tx.$queryRawUnsafe<LockedBucket[]>(
      `insert into bucket (entity_id, id, state, revision, updated_at) values ($1, $2, 'open', 1, $3)
       on conflict (entity_id) do update set revision = bucket.revision + 1, updated_at = excluded.updated_at
         where bucket.state = 'open'
       returning entity_id as "entityId", revision::float8 as revision`,
      entityId,
      newBucketId,
      at,
    );
    return row;
  },
};

/** The simulation of publications has another one, in memory. */
export type SealStore = typeof sqlSealStore;

function distinct(entityIds: readonly string[]): string[] {
  return [...new Set(entityIds)];
}
