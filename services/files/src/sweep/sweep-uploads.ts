import { countExpired, deleteExpired } from '../tus/upload-store.ts';
import type { SweepDeps } from './sweep-objects.ts';
import type { SweepOptions, Swept } from './swept.ts';

/**
 * Gives up resumable uploads whose time is over: row first, bytes after, so that a crash leaves bytes without a row. The
 * bytes of a finished one are the entry's and stay.
 */
export async function sweepUploads(
  { database, blobs, now, logger }: Omit<SweepDeps, 'graceMs'>,
  { isTrial = false }: SweepOptions = {},
): Promise<Swept> {
  if (isTrial) return countExpired(database, now());
  const swept = { count: 0, bytes: 0 };
  await blobs.check();
  for (;;) {
    const expired = await deleteExpired(database, now());
    if (expired.length === 0) break;
    for (const { id, received, isFinished } of expired) {
      if (isFinished) continue;
      await blobs.removeIncomplete(id);
      swept.count += 1;
      swept.bytes += Number(received);
    }
  }
  if (swept.count > 0) logger.info({ ...swept }, 'expired uploads removed');
  return swept;
}
