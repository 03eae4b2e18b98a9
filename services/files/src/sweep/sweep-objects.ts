import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import type { BlobStore } from '../blob/blob-store.ts';
import type { Database } from '../store/prisma.ts';
import type { SweepOptions, Swept } from './swept.ts';

export interface SweepDeps {
  database: Database;
  blobs: BlobStore;
  now: () => Date;
  logger: Logger;
  /** Milliseconds without a reference after which an object is removed. */
  graceMs: number;
}

const BATCH = 500;

/**
 * Removes objects that no entry has referred to for the grace period: row first, bytes after, so that a crash leaves
 * bytes without a row and never the reverse.
 */
export async function sweepObjects(deps: SweepDeps, { isTrial = false }: SweepOptions = {}): Promise<Swept> {
  const { database, logger, now, graceMs } = deps;
  const at = now();
  const before = new Date(at.getTime() - graceMs);
  await markUnreferenced(database, at);
  const swept = isTrial ? await countUnreferenced(database, before) : await removeUnreferenced(deps, before);
  if (!isTrial && swept.count > 0) logger.info({ ...swept }, 'unreferenced objects removed');
  return swept;
}

/** Since when nothing refers to them is known of objects from the first look on that finds it so. */
async function markUnreferenced(database: Database, at: Date): Promise<void> {
  await database.$executeRaw`
    update object set unreferenced_at = null
    where unreferenced_at is not null and exists (select from entry where object_id = object.id)`;
  await database.$executeRaw`
    update object set unreferenced_at = ${at}
    where unreferenced_at is null and not exists (select from entry where object_id = object.id)`;
}

async function countUnreferenced(database: Database, before: Date): Promise<Swept> {
  const [row] = await database.$queryRaw<{ count: number; bytes: bigint }[]>`
    select count(*)::int as count, coalesce(sum(size), 0)::bigint as bytes from object
    where unreferenced_at <= ${before} and not exists (select from entry where object_id = object.id)`;
  return { count: row?.count ?? 0, bytes: Number(row?.bytes ?? 0) };
}

async function removeUnreferenced({ database, blobs }: SweepDeps, before: Date): Promise<Swept> {
  const swept = { count: 0, bytes: 0 };
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
      swept.count += 1;
      swept.bytes += Number(size);
    }
    if (removed.length < BATCH) return swept;
  }
}
