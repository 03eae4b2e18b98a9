import { executeWithNext, type Sql } from '@kr/database';
import type { Logger } from '@kr/telemetry';
import type { BlobStore } from '../blob/blob-store.ts';
import type { Database, Tx } from '../store/prisma.ts';
import type { Upload } from './upload.ts';

interface UploadRow {
  id: string;
  entity_id: string;
  key: string;
  owner_id: string | null;
  length: bigint | null;
  received: bigint;
  metadata: string;
  expires_at: Date;
  finished_at: Date | null;
}

export async function findUpload(db: Tx, id: string): Promise<Upload | undefined> {
  const rows = await db.$queryRaw<UploadRow[]>`
    select id, entity_id, key, owner_id, length, received, metadata, expires_at, finished_at from upload
    where id = ${id}::uuid`;
  return rows.map(toUpload)[0];
}

function toUpload(row: UploadRow): Upload {
  return {
    id: row.id,
    entityId: row.entity_id,
    key: row.key,
    ownerId: row.owner_id,
    lengthBytes: row.length === null ? null : Number(row.length),
    receivedBytes: Number(row.received),
    metadata: row.metadata,
    expiresAt: row.expires_at,
    isFinished: row.finished_at !== null,
  };
}

export interface NewUpload extends Omit<Upload, 'ownerId' | 'receivedBytes' | 'isFinished'> {
  createdAt: Date;
  /** The first holder of the lease, and its milliseconds. */
  leaseHolder: string;
  leaseMs: number;
}

/** Begins an upload in place of the entry's previous one, whose id is returned. The entry's row is locked. */
export async function replaceUpload(tx: Tx, upload: NewUpload): Promise<string | undefined> {
  const { id, entityId, key, lengthBytes, metadata, createdAt, expiresAt, leaseHolder, leaseMs } = upload;
  const replaced = await tx.$queryRaw<{ id: string }[]>`
    delete from upload where entity_id = ${entityId} and key = ${key} returning id`;
  await tx.$executeRaw`
    insert into upload (id, entity_id, key, owner_id, length, metadata, created_at, expires_at, lease_holder, lease_until)
    values (${id}::uuid, ${entityId}, ${key}, (select owner_id from bucket where entity_id = ${entityId}), ${lengthBytes}::bigint, ${metadata}, ${createdAt}, ${expiresAt},
      ${leaseHolder}::uuid, now() + ${leaseMs}::integer * interval '1 millisecond')`;
  return replaced[0]?.id;
}

/**
 * Changes that need the lease; false when it is lost, and then nothing has changed. They may end the lease.
 */
export async function saveReceived(
  db: Tx,
  {
    id,
    leaseHolder,
    receivedBytes,
    expiresAt,
    endsLease,
  }: Held & { receivedBytes: number; expiresAt: Date; endsLease: boolean },
): Promise<boolean> {
  const changed = await db.$executeRaw`
    update upload set received = ${receivedBytes}::bigint, expires_at = ${expiresAt},
      reserved = case when ${endsLease}::boolean then 0 else reserved end,
      lease_holder = case when ${endsLease}::boolean then null else lease_holder end,
      lease_until = case when ${endsLease}::boolean then null else lease_until end,
      is_wanted = is_wanted and not ${endsLease}::boolean
    where id = ${id}::uuid and lease_holder = ${leaseHolder}::uuid`;
  return changed === 1;
}

/** As `saveReceived`. */
export async function saveLength(
  db: Tx,
  { id, leaseHolder, lengthBytes }: Held & { lengthBytes: number },
): Promise<boolean> {
  const changed = await db.$executeRaw`
    update upload set length = ${lengthBytes}::bigint
    where id = ${id}::uuid and lease_holder = ${leaseHolder}::uuid and length is null`;
  return changed === 1;
}

export async function deleteUpload(sql: Sql, id: string): Promise<void> {
  await executeWithNext(sql, 'delete from upload where id = $1::uuid', id);
}

/** Deletes the unfinished uploads of these files, or of all files of an entity; their ids are those of stored bytes. */
export async function deleteUnfinished(
  sql: Sql,
  entityId: string,
  keys: readonly string[] | 'all',
): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ id: string }[]>(
    `delete from upload where entity_id = $1 and finished_at is null and ($2::boolean or key = any($3::text[]))
     returning id`,
    entityId,
    keys === 'all',
    keys === 'all' ? [] : [...keys],
  );
  return rows.map(({ id }) => id);
}

export interface Held {
  id: string;
  leaseHolder: string;
}

/** An upload as a client names it, by its entry and its id. */
export interface UploadName {
  entityId: string;
  key: string;
  id: string;
}

/**
 * Takes a free or expired lease; by the clock of the database, which all writers share. Returns
 * the upload's state.
 */
export async function takeLease(
  db: Database,
  { entityId, key, id, leaseHolder, leaseMs }: UploadName & Held & { leaseMs: number },
): Promise<Upload | undefined> {
  const rows = await db.$queryRaw<UploadRow[]>`
    update upload set lease_holder = ${leaseHolder}::uuid, is_wanted = false,
      lease_until = now() + ${leaseMs}::integer * interval '1 millisecond'
    where id = ${id}::uuid and entity_id = ${entityId} and key = ${key}
      and (lease_holder is null or lease_until < now())
    returning id, entity_id, key, owner_id, length, received, metadata, expires_at, finished_at`;
  return rows.map(toUpload)[0];
}

/** Notifies the holder that another request waits; false when there is no such upload. */
export async function wantLease(db: Database, { entityId, key, id }: UploadName): Promise<boolean> {
  const changed = await db.$executeRaw`
    update upload set is_wanted = true where id = ${id}::uuid and entity_id = ${entityId} and key = ${key}`;
  return changed === 1;
}

export async function renewLease(
  db: Database,
  { id, leaseHolder, leaseMs }: Held & { leaseMs: number },
): Promise<'held' | 'wanted' | 'lost'> {
  const [row] = await db.$queryRaw<{ is_wanted: boolean }[]>`
    update upload set lease_until = now() + ${leaseMs}::integer * interval '1 millisecond'
    where id = ${id}::uuid and lease_holder = ${leaseHolder}::uuid
    returning is_wanted`;
  if (row === undefined) return 'lost';
  return row.is_wanted ? 'wanted' : 'held';
}

export async function releaseLease(db: Database, { id, leaseHolder }: Held): Promise<void> {
  await db.$executeRaw`
    update upload set lease_holder = null, lease_until = null, is_wanted = false
    where id = ${id}::uuid and lease_holder = ${leaseHolder}::uuid`;
}

const BATCH = 500;

export interface ExpiredUpload {
  id: string;
  received: bigint;
  isFinished: boolean;
}

/** Deletes the rows of expired uploads without a writer; returns a batch of them. */
export async function deleteExpired(db: Database, at: Date): Promise<ExpiredUpload[]> {
  return db.$queryRaw<ExpiredUpload[]>`
    delete from upload where id in (
      select id from upload where expires_at <= ${at} and (lease_until is null or lease_until < now())
      limit ${BATCH} for update skip locked)
    returning id, received, finished_at is not null as "isFinished"`;
}

/** How many unfinished uploads `deleteExpired` would delete, and their received bytes. */
export async function countExpired(db: Database, at: Date): Promise<{ count: number; bytes: number }> {
  const [row] = await db.$queryRaw<{ count: number; bytes: bigint }[]>`
    select count(*)::int as count, coalesce(sum(received), 0)::bigint as bytes from upload
    where expires_at <= ${at} and (lease_until is null or lease_until < now()) and finished_at is null`;
  return { count: row?.count ?? 0, bytes: Number(row?.bytes ?? 0) };
}

export interface RemoveIncompleteDeps {
  blobs: BlobStore;
  logger: Logger;
}

/** Removes the bytes of uploads whose rows are deleted. On errors they are left to the collection. */
export async function removeIncomplete(
  { blobs, logger }: RemoveIncompleteDeps,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    await blobs.removeIncomplete(id).catch((err: unknown) => {
      logger.warn({ err, uploadId: id }, 'bytes of a deleted upload were not removed');
    });
  }
}
