import type { Sql } from '@kr/database';
import type { FilesContext } from '../context.ts';

/** Deletes the unfinished resumable uploads of these files, or of all files of an entity; returns their ids. */
export async function deleteUnfinished(
  tx: Sql,
  entityId: string,
  keys: readonly string[] | 'all',
): Promise<string[]> {
  const rows = await tx.$queryRawUnsafe<{ id: string }[]>(
    `delete from upload where entity_id = $1 and finished_at is null and ($2::text[] is null or key = any($2))
     returning id`,
    entityId,
    keys === 'all' ? null : keys,
  );
  return rows.map(({ id }) => id);
}

/** Removes the bytes of deleted uploads. On errors they are left to the garbage collection. */
export async function removeIncomplete(
  { blobs, logger }: FilesContext,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    await blobs.removeIncomplete(id).catch((err: unknown) => {
      logger.warn({ err, uploadId: id }, 'bytes of a deleted upload were not removed');
    });
  }
}
