import type { Logger } from '@kr/telemetry';
import type { BlobStore } from '../blob/blob-store.ts';

export interface RemoveIncompleteDeps {
  blobs: BlobStore;
  logger: Logger;
}

/** Removes the bytes of uploads whose rows are gone. Those that cannot be removed are left to the sweep. */
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
