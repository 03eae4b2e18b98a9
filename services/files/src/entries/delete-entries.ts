import { appendAudited, ticketEntry } from '@kr/audit-trail';
import { changeBucket } from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';
import { noSuchFile } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';
import { entryEvent } from './entry-event.ts';
import { deleteUnfinished, removeIncomplete } from './unfinished-uploads.ts';

const DELETE = `
  delete from entry where entity_id = $1 and ($2::boolean or key = any($3::text[])) returning key`;

/**
 * RPC DeleteEntries. The bytes stay until the collection finds them unreferenced.
 * @throws ServiceError - `not_found`: one of the keys is unknown; nothing is deleted - the errors of `changeBucket`
 */
export function deleteEntries(deps: FilesContext): Rpc<'DeleteEntries'> {
  return async ({ ticket, keys, all }, { principal }) => {
    const opened = deps.openTicket(ticket, 'write');
    const { entityId } = opened;
    const badKey = keys.find((key) => key.includes('\0'));
    if (badKey !== undefined) throw noSuchFile(entityId, badKey);
    const { gone, uploads } = await changeBucket(deps, entityId, async (tx, bucket) => {
      const uploads = await deleteUnfinished(tx, entityId, all ? 'all' : keys);
      const deleted = await tx.$queryRawUnsafe<{ key: string }[]>(DELETE, entityId, all, keys);
      const gone = new Set(deleted.map(({ key }) => key));
      const unknown = all ? undefined : keys.find((key) => !gone.has(key));
      if (unknown !== undefined) throw noSuchFile(entityId, unknown);
      await appendAudited(
        tx,
        [...gone].map((key) => entryEvent('deleted', bucket, key)),
        [...gone].map((key) => ticketEntry(principal, 'file.delete', opened, { key })),
      );
      return { gone, uploads };
    });
    await removeIncomplete(deps, uploads);
    return { keys: [...gone] };
  };
}
