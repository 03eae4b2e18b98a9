import type { ContentPath } from '../content/content-path.ts';
import type { Tx } from '../store/prisma.ts';

/** What is used, or promised to uploads that are under way, in bytes. */
export interface Usage {
  /** By the entity. */
  entityBytes: number;
  /** By all entities of its owner, each object once; 0 where no owner is known. */
  userBytes: number;
  /** The owner's own; null where the usual one holds. */
  userLimitBytes: number | null;
}

/** Names the quota that the files of an entity count against: that of its owner, or where none is known its own. */
export async function findQuota(db: Tx, entityId: string): Promise<string> {
  const [row] = await db.$queryRaw<{ owner_id: string | null }[]>`
    select owner_id from bucket where entity_id = ${entityId}`;
  const ownerId = row?.owner_id ?? null;
  return ownerId === null ? `quota of entity ${entityId}` : `quota of user ${ownerId}`;
}

/**
 * Lets one transaction at a time promise room of a quota, so that two never promise the same. It is taken before all
 * other locks.
 */
export async function lockQuota(tx: Tx, quota: string): Promise<void> {
  await tx.$queryRaw`select pg_advisory_xact_lock(hashtextextended(${quota}, 0))::text`;
}

/**
 * The usage but for what an upload of this id into this file replaces: the file's present bytes, and a resumable upload
 * of it.
 */
export async function findUsage(
  tx: Tx,
  { entityId, key }: ContentPath,
  { id, at }: { id: string; at: Date },
): Promise<Usage> {
  const [row] = await tx.$queryRaw<{ entity_bytes: bigint; user_bytes: bigint; user_limit: bigint | null }[]>`
    with mine as materialized (
      select entity_id from bucket where entity_id = ${entityId}
      union
      select entity_id from bucket where owner_id = (select owner_id from bucket where entity_id = ${entityId})
    ), stored as (
      select o.id, o.size, bool_or(e.entity_id = ${entityId}) as is_here
      from mine join entry e on e.entity_id = mine.entity_id join object o on o.id = e.object_id
      where not (e.entity_id = ${entityId} and e.key = ${key})
      group by o.id
    ), promised as (
      select r.bytes, r.entity_id = ${entityId} as is_here
      from mine join reservation r on r.entity_id = mine.entity_id
      where r.id <> ${id}::uuid and r.expires_at > ${at}
      union all
      select coalesce(u.length, u.received), u.entity_id = ${entityId}
      from mine join upload u on u.entity_id = mine.entity_id
      where not (u.entity_id = ${entityId} and u.key = ${key}) and u.finished_at is null and u.expires_at > ${at}
    ), bytes as (
      select size as bytes, is_here from stored union all select bytes, is_here from promised
    )
    select coalesce(sum(bytes) filter (where is_here), 0)::bigint as entity_bytes,
      coalesce(sum(bytes), 0)::bigint as user_bytes,
      (select q.max_bytes from bucket b join quota q on q.owner_id = b.owner_id where b.entity_id = ${entityId})
        as user_limit
    from bytes`;
  const limit = row?.user_limit ?? null;
  return {
    entityBytes: Number(row?.entity_bytes ?? 0),
    userBytes: Number(row?.user_bytes ?? 0),
    userLimitBytes: limit === null ? null : Number(limit),
  };
}

export interface ReservationRow {
  id: string;
  entityId: string;
  bytes: number;
  expiresAt: Date;
}

/** Promises room, or changes what was promised; promises that have ended are forgotten on the way. */
export async function saveReservation(
  tx: Tx,
  { id, entityId, bytes, expiresAt }: ReservationRow,
  at: Date,
): Promise<void> {
  await tx.$executeRaw`
    with ended as (
      delete from reservation where id in (
        select id from reservation where expires_at <= ${at} and id <> ${id}::uuid limit 100 for update skip locked))
    insert into reservation (id, entity_id, bytes, expires_at)
    values (${id}::uuid, ${entityId}, ${bytes}::bigint, ${expiresAt})
    on conflict (id) do update set bytes = excluded.bytes, expires_at = excluded.expires_at`;
}

export async function renewReservation(tx: Tx, id: string, expiresAt: Date): Promise<void> {
  await tx.$executeRaw`update reservation set expires_at = ${expiresAt} where id = ${id}::uuid`;
}

/** Says whether the promise still held. */
export async function deleteReservation(tx: Tx, id: string, at: Date): Promise<boolean> {
  const rows = await tx.$queryRaw<{ held: boolean }[]>`
    delete from reservation where id = ${id}::uuid returning expires_at > ${at} as held`;
  return rows[0]?.held === true;
}
