import type { CollectedBytes } from '@kr/contracts';
import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import { requireOperator } from '../access.ts';
import type { BlobStore, ListedBlob } from '../blob/blob-store.ts';
import type { Rpc } from '../rpc.ts';
import { deleteExpiredReservations, endReservations, type NamedIn, unnamed } from '../store/named-bytes.ts';
import type { Database } from '../store/prisma.ts';
import { countExpired, deleteExpired } from '../uploads/upload-store.ts';

export interface Collected {
  count: number;
  bytes: number;
}

export interface CollectOptions {
  /** Counts without removing. */
  isTrial?: boolean;
}

export interface CollectDeps {
  database: Database;
  blobs: BlobStore;
  now: () => Date;
  logger: Logger;
  /** Milliseconds before an unreferenced object is removed. */
  graceMs: number;
}

const BATCH = 500;

/**
 * Removes objects that no entry has referred to for the grace period: row first, bytes after, so that a crash leaves
 * bytes without a row and never the reverse.
 */
export async function collectObjects(
  deps: CollectDeps,
  { isTrial = false }: CollectOptions = {},
): Promise<Collected> {
  const { database, logger, now, graceMs } = deps;
  const at = now();
  const before = new Date(at.getTime() - graceMs);
  await markUnreferenced(database, at);
  const collected = isTrial
    ? await countUnreferenced(database, before)
    : await removeUnreferenced(deps, before);
  if (!isTrial && collected.count > 0) logger.info({ ...collected }, 'unreferenced objects removed');
  return collected;
}

const MARKED_AT_ONCE = 5_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Records the time from which objects are unreferenced: that of the first collection that finds them so. A statement examines some thousand
 * objects, so that it stays within the statement timeout.
 */
async function markUnreferenced(database: Database, at: Date): Promise<void> {
  for (let position: string | null = FIRST_ID; position !== null; ) {
    const rows: { last: string | null }[] = await database.$queryRaw`
      with looked_at as (
        select id, unreferenced_at, exists (select from entry where object_id = object.id) as is_referenced
        from object where id > ${position}::uuid order by id limit ${MARKED_AT_ONCE}
      ), marked as (
        update object set unreferenced_at = case when is_referenced then null else ${at}::timestamptz end
        from looked_at
        where looked_at.id = object.id and (looked_at.unreferenced_at is not null) = is_referenced
      )
      select id::text as last from looked_at order by looked_at.id desc limit 1`;
    position = rows[0]?.last ?? null;
  }
}

async function countUnreferenced(database: Database, before: Date): Promise<Collected> {
  const [row] = await database.$queryRaw<{ count: number; bytes: bigint }[]>`
    select count(*)::int as count, coalesce(sum(size), 0)::bigint as bytes from object
    where unreferenced_at <= ${before} and not exists (select from entry where object_id = object.id)`;
  return { count: row?.count ?? 0, bytes: Number(row?.bytes ?? 0) };
}

async function removeUnreferenced({ database, blobs }: CollectDeps, before: Date): Promise<Collected> {
  const collected = { count: 0, bytes: 0 };
  await blobs.check();
  for (;;) {
    const removed = await database.$queryRaw<{ id: string; size: bigint }[]>`
      delete from object where id in (
        select id from object where unreferenced_at <= ${before} limit ${BATCH} for update skip locked)
      and not exists (select from entry where object_id = object.id)
      returning id, size`;
    if (removed.length > 0) await failpoint('files.sweep.inside');
    for (const { id, size } of removed) {
      await blobs.remove(id);
      collected.count += 1;
      collected.bytes += Number(size);
    }
    if (removed.length < BATCH) return collected;
  }
}

/**
 * Deletes expired resumable uploads: the row first, the bytes afterwards, so that a crash leaves bytes without a row. The
 * bytes of a finished one belong to its entry.
 */
export async function deleteExpiredUploads(
  { database, blobs, now, logger }: Omit<CollectDeps, 'graceMs'>,
  { isTrial = false }: CollectOptions = {},
): Promise<Collected> {
  if (isTrial) return countExpired(database, now());
  const collected = { count: 0, bytes: 0 };
  await deleteExpiredReservations(database, now());
  await blobs.check();
  for (;;) {
    const expired = await deleteExpired(database, now());
    if (expired.length === 0) break;
    for (const { id, received, isFinished } of expired) {
      if (isFinished) continue;
      await blobs.removeIncomplete(id);
      collected.count += 1;
      collected.bytes += Number(received);
    }
  }
  if (collected.count > 0) logger.info({ ...collected }, 'expired uploads removed');
  return collected;
}

/**
 * Removes stored bytes older than the grace period without a row: the remains of crashed uploads. Bytes have a row
 * before they arrive: a direct upload's is its reservation, which ends in the transaction that creates
 * the object; that of a resumable upload is the upload. So bytes that are found without a row never get one later.
 */
export async function collectUnreferencedBytes(
  deps: CollectDeps,
  { isTrial = false }: CollectOptions = {},
): Promise<Collected> {
  const { database, blobs, now, logger, graceMs } = deps;
  const before = new Date(now().getTime() - graceMs);
  const collected: Collected = { count: 0, bytes: 0 };

  const collect = async <Listed extends ListedBlob>(
    listed: AsyncIterable<Listed>,
    namedIn: NamedIn,
    remove: (found: Listed) => Promise<void>,
  ): Promise<void> => {
    for await (const batch of batches(olderThan(before, listed))) {
      for (const found of await unreferencedOf(database, batch, { namedIn, before, isTrial })) {
        if (!isTrial) await remove(found);
        collected.count += 1;
        collected.bytes += found.sizeBytes;
      }
    }
  };
  await collect(blobs.list(), 'objects and uploads', ({ id }) => blobs.remove(id));
  await collect(blobs.listIncomplete(), 'uploads', ({ id }) => blobs.removeIncomplete(id));
  await collect(blobs.listUnfinished(before), 'unfinished uploads', (found) => found.remove());
  if (!isTrial && collected.count > 0) logger.info({ ...collected }, 'unreferenced bytes removed');
  return collected;
}

async function unreferencedOf<Listed extends ListedBlob>(
  database: Database,
  batch: readonly Listed[],
  { namedIn, before, isTrial }: { namedIn: NamedIn; before: Date; isTrial: boolean },
): Promise<Listed[]> {
  const ids = batch.map(({ id }) => id);
  if (!isTrial) await endReservations(database, ids, before);
  const unreferenced = await unnamed(database, ids, { namedIn, before });
  return batch.filter(({ id }) => unreferenced.has(id));
}

async function* olderThan<Listed extends ListedBlob>(
  before: Date,
  listed: AsyncIterable<Listed>,
): AsyncGenerator<Listed> {
  for await (const found of listed) if (found.storedAt < before) yield found;
}

async function* batches<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Longer than any ticket holds and any message is under way. */
const BARRED_MS = 86_400_000;
const FENCED_MS = 30 * 86_400_000;

/** Forgets the barred buckets of entities that are gone, and publications that were settled long ago. */
export async function deleteOldPublications({
  database,
  now,
}: {
  database: Database;
  now: () => Date;
}): Promise<void> {
  const at = now().getTime();
  await database.bucket.deleteMany({
    where: { state: 'removed', updatedAt: { lt: new Date(at - BARRED_MS) } },
  });
  await database.participant.deleteMany({
    where: { state: { in: ['new', 'applied', 'aborted'] }, updatedAt: { lt: new Date(at - FENCED_MS) } },
  });
}

/** RPC CollectBytes. Safe to repeat. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function collectBytes(deps: CollectDeps): Rpc<'CollectBytes'> {
  return async ({ isApplied }, { principal }) => {
    requireOperator(principal);
    const options = { isTrial: !isApplied };
    const expired = await deleteExpiredUploads(deps, options);
    const unreferenced = await collectObjects(deps, options);
    const orphans = await collectUnreferencedBytes(deps, options);
    return {
      expiredUploads: message(expired),
      unreferencedObjects: message(unreferenced),
      orphans: message(orphans),
      graceMs: String(deps.graceMs),
    };
  };
}

function message({ count, bytes }: Collected): CollectedBytes {
  return { count: String(count), bytes: String(bytes) };
}
