import type { Sql } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import { requireOperator } from '../access.ts';
import type { BlobStore, ListedBlob } from '../blob/blob-store.ts';
import { type NamedIn, unnamed } from '../blob/named-bytes.ts';
import type { Rpc } from '../rpc.ts';

export interface Collected {
  count: number;
  bytes: number;
}

export interface CollectOptions {
  /** Counts without removing. */
  isTrial?: boolean;
}

export interface CollectDeps {
  database: Sql;
  blobs: BlobStore;
  now: () => Date;
  logger: Logger;
  /** Milliseconds before an unreferenced object is removed. */
  collectionGraceMs: number;
}

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
export async function collectObjects(
  { database, blobs, logger, now, collectionGraceMs }: CollectDeps,
  { isTrial = false }: CollectOptions = {},
): Promise<Collected> {
  const at = now();
  const before = new Date(at.getTime() - collectionGraceMs);
  await markUnreferenced(database, at);
  if (isTrial) return count(database, COUNT_UNREFERENCED, before);
  const collected = { count: 0, bytes: 0 };
  await blobs.check();
  for (let isMore = true; isMore; ) {
    const removed = await database.$queryRawUnsafe<{ id: string; bytes: number }[]>(
      DELETE_UNREFERENCED,
      before,
    );
    if (removed.length > 0) await failpoint('files.collect.inside');
    for (const { id, bytes } of removed) {
      await blobs.remove(id);
      add(collected, bytes);
    }
    isMore = removed.length === BATCH;
  }
  if (collected.count > 0) logger.info({ ...collected }, 'unreferenced objects removed');
  return collected;
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

/** Records the time from which objects are unreferenced: that of the first collection that finds them so. */
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
  { database, blobs, now, logger }: Omit<CollectDeps, 'collectionGraceMs'>,
  { isTrial = false }: CollectOptions = {},
): Promise<Collected> {
  if (isTrial) return count(database, COUNT_EXPIRED, now());
  const collected = { count: 0, bytes: 0 };
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
      add(collected, bytes);
    }
    isMore = expired.length > 0;
  }
  if (collected.count > 0) logger.info({ ...collected }, 'expired uploads removed');
  return collected;
}

/** A delayed upload then fails instead of using bytes that are about to be removed. */
const END_RESERVATIONS = 'delete from reservation where id = any($1::uuid[]) and expires_at <= $2';

/**
 * Removes stored bytes older than the grace period without a row: the remains of crashed uploads. Bytes have a row
 * before they arrive: a direct upload's is its reservation, which ends in the transaction that creates
 * the object; that of a resumable upload is the upload. So bytes that are found without a row never get one later.
 */
export async function collectUnreferencedBytes(
  { database, blobs, now, logger, collectionGraceMs }: CollectDeps,
  { isTrial = false }: CollectOptions = {},
): Promise<Collected> {
  const before = new Date(now().getTime() - collectionGraceMs);
  const collected: Collected = { count: 0, bytes: 0 };

  const collect = async <Listed extends ListedBlob>(
    listed: AsyncIterable<Listed>,
    namedIn: NamedIn,
    remove: (found: Listed) => Promise<void>,
  ): Promise<void> => {
    for await (const batch of batchesBefore(before, listed)) {
      const ids = batch.map(({ id }) => id);
      if (!isTrial) await database.$executeRawUnsafe(END_RESERVATIONS, ids, before);
      const unreferenced = await unnamed(database, ids, { namedIn, before });
      for (const found of batch.filter(({ id }) => unreferenced.has(id))) {
        if (!isTrial) await remove(found);
        add(collected, found.sizeBytes);
      }
    }
  };
  await collect(blobs.list(), 'objects and uploads', ({ id }) => blobs.remove(id));
  await collect(blobs.listIncomplete(), 'uploads', ({ id }) => blobs.removeIncomplete(id));
  await collect(blobs.listUnfinished(before), 'unfinished uploads', (found) => found.remove());
  if (!isTrial && collected.count > 0) logger.info({ ...collected }, 'unreferenced bytes removed');
  return collected;
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

async function count(database: Sql, statement: string, at: Date): Promise<Collected> {
  const [counted] = await database.$queryRawUnsafe<[Collected]>(statement, at);
  return counted;
}

function add(collected: Collected, bytes: number): void {
  collected.count += 1;
  collected.bytes += bytes;
}

/** Milliseconds that closed buckets of deleted entities are kept: longer than any ticket or message is valid. */
const REMOVED_MS = 86_400_000;
const FENCED_MS = 30 * 86_400_000;

/** Deletes the closed buckets of deleted entities, and publications that were settled long ago. */
export async function deleteOldPublications({
  database,
  now,
}: Pick<CollectDeps, 'database' | 'now'>): Promise<void> {
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

/** RPC CollectBytes. Safe to repeat. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function collectBytes(deps: CollectDeps): Rpc<'CollectBytes'> {
  return async ({ isApplied }, { principal }) => {
    requireOperator(principal);
    const options = { isTrial: !isApplied };
    return {
      expiredUploads: await deleteExpiredUploads(deps, options),
      unreferencedObjects: await collectObjects(deps, options),
      orphans: await collectUnreferencedBytes(deps, options),
      graceMs: deps.collectionGraceMs,
    };
  };
}
