import type { Sql } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import { requireOperator } from '../access.ts';
import type { ListedBlob } from '../blob/blob-store.ts';
import { findUnreferenced, type ReferenceSource } from '../blob/unreferenced-blobs.ts';
import type { FilesContext } from '../context.ts';
import type { Rpc } from '../rpc.ts';

export interface GarbageCount {
  count: number;
  bytes: number;
}

export interface GcOptions {
  /** Counts without removing. */
  isDryRun?: boolean;
}

export type GarbageDeps = Pick<FilesContext, 'database' | 'blobs' | 'now' | 'logger' | 'garbageGraceMs'>;

const BATCH = 500;

const COUNT_UNREFERENCED = `
  select count(*)::int as count, coalesce(sum(size), 0)::float8 as bytes from object
  where unreferenced_at <= $1 and not exists (select from entry where object_id = object.id)`;
const DELETE_UNREFERENCED = `
  delete from object where id in (
    select id from object where unreferenced_at <= $1 limit ${BATCH} for update skip locked)
  and not exists (select from entry where object_id = object.id)
  returning id, size::float8 as bytes`;

/**
 * Removes objects that no entry has referred to for the grace period: row first, bytes after, so that a crash leaves
 * bytes without a row and never the reverse.
 */
export async function removeUnreferencedObjects(
  { database, blobs, logger, now, garbageGraceMs }: GarbageDeps,
  { isDryRun = false }: GcOptions = {},
): Promise<GarbageCount> {
  const at = now();
  const before = new Date(at.getTime() - garbageGraceMs);
  await markUnreferenced(database, at);
  if (isDryRun) return count(database, COUNT_UNREFERENCED, before);
  const removed: GarbageCount = { count: 0, bytes: 0 };
  await blobs.check();
  for (let isMore = true; isMore; ) {
    const deleted = await database.$queryRawUnsafe<{ id: string; bytes: number }[]>(
      DELETE_UNREFERENCED,
      before,
    );
    if (deleted.length > 0) await failpoint('files.gc.inside');
    for (const { id, bytes } of deleted) {
      await blobs.remove(id);
      add(removed, bytes);
    }
    isMore = deleted.length === BATCH;
  }
  if (removed.count > 0) logger.info({ ...removed }, 'unreferenced objects removed');
  return removed;
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** Some thousand objects, so that the statement stays within its timeout. */
const MARK_NEXT = `
  with looked_at as (
    select id, unreferenced_at, exists (select from entry where object_id = object.id) as is_referenced
    from object where id > $1 order by id limit 5000
  ), marked as (
    update object set unreferenced_at = case when is_referenced then null else $2::timestamptz end
    from looked_at
    where looked_at.id = object.id and (looked_at.unreferenced_at is not null) = is_referenced
  )
  select id::text as last from looked_at order by looked_at.id desc limit 1`;

/** Records the time from which objects are unreferenced: that of the first run that finds them so. */
async function markUnreferenced(database: Sql, at: Date): Promise<void> {
  for (let position: string | undefined = FIRST_ID; position !== undefined; ) {
    const rows: { last: string }[] = await database.$queryRawUnsafe(MARK_NEXT, position, at);
    position = rows[0]?.last;
  }
}

const IS_EXPIRED = 'expires_at <= $1 and (lease_until is null or lease_until < now())';
const COUNT_EXPIRED = `
  select count(*)::int as count, coalesce(sum(received), 0)::float8 as bytes from upload
  where ${IS_EXPIRED} and finished_at is null`;
const DELETE_EXPIRED = `
  delete from upload where id in (select id from upload where ${IS_EXPIRED} limit ${BATCH} for update skip locked)
  returning id, received::float8 as bytes, finished_at is not null as "isFinished"`;
/** Those of processes that died; each upload also deletes those of the same owner. */
const DELETE_EXPIRED_RESERVATIONS = `
  delete from reservation where id in (
    select id from reservation where expires_at <= $1 order by owner_id limit 1000 for update skip locked)`;

/**
 * Deletes expired resumable uploads: the row first, the bytes afterwards, so that a crash leaves bytes without a row. The
 * bytes of a finished one belong to its entry.
 */
export async function deleteExpiredUploads(
  { database, blobs, now, logger }: Omit<GarbageDeps, 'garbageGraceMs'>,
  { isDryRun = false }: GcOptions = {},
): Promise<GarbageCount> {
  if (isDryRun) return count(database, COUNT_EXPIRED, now());
  const removed: GarbageCount = { count: 0, bytes: 0 };
  await database.$executeRawUnsafe(DELETE_EXPIRED_RESERVATIONS, now());
  await blobs.check();
  for (let isMore = true; isMore; ) {
    const expired = await database.$queryRawUnsafe<{ id: string; bytes: number; isFinished: boolean }[]>(
      DELETE_EXPIRED,
      now(),
    );
    for (const { id, bytes, isFinished } of expired) {
      if (isFinished) continue;
      await blobs.removeIncomplete(id);
      add(removed, bytes);
    }
    isMore = expired.length > 0;
  }
  if (removed.count > 0) logger.info({ ...removed }, 'expired uploads removed');
  return removed;
}

/** A delayed upload then fails instead of using bytes that are about to be removed. */
const END_RESERVATIONS = 'delete from reservation where id = any($1::uuid[]) and expires_at <= $2';

/**
 * Removes blobs older than the grace period without a row: the remains of crashed uploads. Bytes have a row
 * before they arrive: a direct upload's is its reservation, which ends in the transaction that creates
 * the object; that of a resumable upload is the upload. So bytes that are found without a row never get one later.
 */
export async function removeUnreferencedBlobs(
  { database, blobs, now, logger, garbageGraceMs }: GarbageDeps,
  { isDryRun = false }: GcOptions = {},
): Promise<GarbageCount> {
  const before = new Date(now().getTime() - garbageGraceMs);
  const removed: GarbageCount = { count: 0, bytes: 0 };

  const removeFrom = async <Listed extends ListedBlob>(
    listed: AsyncIterable<Listed>,
    source: ReferenceSource,
    remove: (found: Listed) => Promise<void>,
  ): Promise<void> => {
    for await (const batch of batchesBefore(before, listed)) {
      const ids = batch.map(({ id }) => id);
      if (!isDryRun) await database.$executeRawUnsafe(END_RESERVATIONS, ids, before);
      const unreferenced = await findUnreferenced(database, ids, { source, before });
      for (const found of batch.filter(({ id }) => unreferenced.has(id))) {
        if (!isDryRun) await remove(found);
        add(removed, found.sizeBytes);
      }
    }
  };
  await removeFrom(blobs.list(), 'objects and uploads', ({ id }) => blobs.remove(id));
  await removeFrom(blobs.listIncomplete(), 'uploads', ({ id }) => blobs.removeIncomplete(id));
  await removeFrom(blobs.listUnfinished(before), 'unfinished uploads', (found) => found.remove());
  if (!isDryRun && removed.count > 0) logger.info({ ...removed }, 'unreferenced blobs removed');
  return removed;
}

/** The items stored before the instant, in batches. */
async function* batchesBefore<Listed extends ListedBlob>(
  before: Date,
  listed: AsyncIterable<Listed>,
): AsyncGenerator<Listed[]> {
  let batch: Listed[] = [];
  for await (const found of listed) {
    if (found.storedAt >= before) continue;
    batch.push(found);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function count(database: Sql, statement: string, at: Date): Promise<GarbageCount> {
  const [counted] = await database.$queryRawUnsafe<[GarbageCount]>(statement, at);
  return counted;
}

function add(removed: GarbageCount, bytes: number): void {
  removed.count += 1;
  removed.bytes += bytes;
}

/** Milliseconds that closed buckets of deleted entities are kept: longer than any ticket or message is valid. */
const REMOVED_MS = 86_400_000;
const FENCED_MS = 30 * 86_400_000;

/** Deletes the closed buckets of deleted entities, and publications that were finished long ago. */
export async function deleteOldPublications({
  database,
  now,
}: Pick<GarbageDeps, 'database' | 'now'>): Promise<void> {
  const ago = (ms: number) => new Date(now().getTime() - ms);
  await database.$executeRawUnsafe(
    `delete from bucket where state = 'removed' and updated_at < $1`,
    ago(REMOVED_MS),
  );
  await database.$executeRawUnsafe(
    `delete from participant where state <> 'prepared' and updated_at < $1`,
    ago(FENCED_MS),
  );
}

/** RPC CollectGarbage. Safe to repeat. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function collectGarbage(deps: GarbageDeps): Rpc<'CollectGarbage'> {
  return async ({ isApplied }, { principal }) => {
    requireOperator(principal);
    const options = { isDryRun: !isApplied };
    return {
      expiredUploads: await deleteExpiredUploads(deps, options),
      unreferencedObjects: await removeUnreferencedObjects(deps, options),
      unreferencedBlobs: await removeUnreferencedBlobs(deps, options),
      graceMs: deps.garbageGraceMs,
    };
  };
}
