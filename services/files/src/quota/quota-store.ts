import type { ContentPath } from '../http/content-path.ts';
import type { Tx } from '../store/prisma.ts';

/** Bytes stored or reserved, without those of the upload in question. */
export interface Usage {
  /** Files of the entity as they are now, and uploads under way. */
  entityBytes: number;
  /** Everything of the owner until it is removed, replaced and deleted files included; 0 if the owner is unknown. */
  userBytes: number;
  /** The owner's own limit; null: the default. */
  userLimitBytes: number | null;
}

/** The owner of an entity's files; null before anything was started in it. */
export async function findOwner(db: Tx, entityId: string): Promise<string | null> {
  const [row] = await db.$queryRaw<{ owner_id: string | null }[]>`
    select owner_id from bucket where entity_id = ${entityId}`;
  return row?.owner_id ?? null;
}

/**
 * The usage without an upload of this id into this file, and without the file's present bytes for the entity. Locks the usage of the
 * owner until the transaction ends, so that two uploads never reserve the same bytes. Locks of entities precede it.
 */
export async function lockUsage(
  tx: Tx,
  { entityId, key, ownerId }: ContentPath & { ownerId: string | null },
  { id, at }: { id: string; at: Date },
): Promise<Usage> {
  const user = ownerId === null ? { bytes: 0, limit: null } : await lockOwner(tx, ownerId, { id, at });
  const [entity] = await tx.$queryRaw<{ bytes: bigint }[]>`
    select (
      (select coalesce(sum(size), 0) from object where id in (
        select object_id from entry where entity_id = ${entityId} and key <> ${key}))
      + (select coalesce(sum(bytes), 0) from reservation
        where entity_id = ${entityId} and id <> ${id}::uuid and expires_at > ${at})
      + (select coalesce(sum(upload_usage(upload)), 0) from upload
        where entity_id = ${entityId} and key <> ${key} and expires_at > ${at}))::bigint as bytes`;
  return { entityBytes: Number(entity?.bytes ?? 0), userBytes: user.bytes, userLimitBytes: user.limit };
}

async function lockOwner(
  tx: Tx,
  ownerId: string,
  { id, at }: { id: string; at: Date },
): Promise<{ bytes: number; limit: number | null }> {
  // Written, so that the row is locked and read as its last holder left it.
  const [row] = await tx.$queryRaw<{ bytes: bigint; uncounted: bigint; limit: bigint | null }[]>`
    insert into owner_usage as usage (owner_id, bytes) values (${ownerId}, 0)
    on conflict (owner_id) do update set bytes = usage.bytes
    returning bytes,
      (select coalesce(sum(bytes), 0)::bigint from reservation
        where owner_id = ${ownerId} and (id = ${id}::uuid or expires_at <= ${at}))
      + (select coalesce(sum(upload_usage(upload)), 0)::bigint from upload where id = ${id}::uuid) as uncounted,
      (select max_bytes from quota where owner_id = ${ownerId}) as limit`;
  const limit = row?.limit ?? null;
  return {
    bytes: Number(row?.bytes ?? 0) - Number(row?.uncounted ?? 0),
    limit: limit === null ? null : Number(limit),
  };
}

/** Unreferenced stored bytes of an owner, and when the first of them was found by a collection. */
export async function findUnreferenced(
  tx: Tx,
  ownerId: string | null,
): Promise<{ bytes: number; since: Date | null }> {
  const [row] = await tx.$queryRaw<{ bytes: bigint; since: Date | null }[]>`
    select coalesce(sum(size), 0)::bigint as bytes, min(unreferenced_at) as since from object
    where owner_id = ${ownerId} and unreferenced_at is not null`;
  return { bytes: Number(row?.bytes ?? 0), since: row?.since ?? null };
}

export interface ReservationRow {
  id: string;
  entityId: string;
  ownerId: string | null;
  bytes: number;
  expiresAt: Date;
}

/** Promises room, or changes what was promised; promises that have ended are forgotten on the way. */
export async function saveReservation(
  tx: Tx,
  { id, entityId, ownerId, bytes, expiresAt }: ReservationRow,
  at: Date,
): Promise<void> {
  await tx.$executeRaw`
    with ended as (
      delete from reservation where id in (
        select id from reservation where expires_at <= ${at} and id <> ${id}::uuid limit 100 for update skip locked))
    insert into reservation (id, entity_id, owner_id, bytes, expires_at)
    values (${id}::uuid, ${entityId}, ${ownerId}, ${bytes}::bigint, ${expiresAt})
    on conflict (id) do update set bytes = excluded.bytes, expires_at = excluded.expires_at`;
}

export async function renewReservation(tx: Tx, id: string, expiresAt: Date): Promise<void> {
  await tx.$executeRaw`update reservation set expires_at = ${expiresAt} where id = ${id}::uuid`;
}

/** `none`: it is gone, such as by the transaction that attached its bytes. */
export async function deleteReservation(tx: Tx, id: string, at: Date): Promise<'held' | 'expired' | 'none'> {
  const [row] = await tx.$queryRaw<{ held: boolean }[]>`
    delete from reservation where id = ${id}::uuid returning expires_at > ${at} as held`;
  if (row === undefined) return 'none';
  return row.held ? 'held' : 'expired';
}
