import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import type { BlobStore } from '../blob/blob-store.ts';
import type { Database } from '../store/prisma.ts';

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
 * bytes without a row and never the reverse. Says how many.
 */
export async function sweepObjects({ database, blobs, now, logger, graceMs }: SweepDeps): Promise<number> {
  const at = now();
  await database.$executeRaw`
    update object set unreferenced_at = null
    where unreferenced_at is not null and exists (select from entry where object_id = object.id)`;
  await database.$executeRaw`
    update object set unreferenced_at = ${at}
    where unreferenced_at is null and not exists (select from entry where object_id = object.id)`;
  const before = new Date(at.getTime() - graceMs);
  let count = 0;
  for (;;) {
    const removed = await database.$queryRaw<{ id: string }[]>`
      delete from object where id in (
        select id from object where unreferenced_at <= ${before} limit ${BATCH} for update skip locked)
      and not exists (select from entry where object_id = object.id)
      returning id`;
    if (removed.length > 0) await failpoint('files.sweep.inside');
    for (const { id } of removed) await blobs.remove(id);
    count += removed.length;
    if (removed.length < BATCH) break;
  }
  if (count > 0) logger.info({ count }, 'unreferenced objects removed');
  return count;
}
