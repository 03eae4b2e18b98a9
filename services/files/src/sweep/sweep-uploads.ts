import { deleteExpired } from '../tus/upload-store.ts';
import type { SweepDeps } from './sweep-objects.ts';

/**
 * Gives up resumable uploads whose time is over: row first, bytes after, so that a crash leaves bytes without a row. The
 * bytes of a finished one are the entry's and stay. Says how many were given up.
 */
export async function sweepUploads({
  database,
  blobs,
  now,
  logger,
}: Omit<SweepDeps, 'graceMs'>): Promise<number> {
  let count = 0;
  for (;;) {
    const expired = await deleteExpired(database, now());
    if (expired.length === 0) break;
    const unfinished = expired.filter(({ isFinished }) => !isFinished);
    for (const { id } of unfinished) await blobs.removeIncomplete(id);
    count += unfinished.length;
  }
  if (count > 0) logger.info({ count }, 'expired uploads removed');
  return count;
}
