import { appendAudited, ticketEntry } from '@kr/audit-trail';
import { executeWithNext } from '@kr/database';
import { failpoint } from '@kr/failpoint';
import { ServiceError } from '@kr/service-error';
import { changeBucket } from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';
import { type FileEntry, fileEntryMessage, findFile } from '../file-entry.ts';
import { noSuchFile } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';
import { entryEvent } from './entry-event.ts';

const COMPLETE = `
  update entry set state = 'completed', metadata = $3, updated_at = $4 where entity_id = $1 and key = $2`;

/**
 * RPC CommitUpload. Repeating it is allowed and only moves `updated`.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: no content has arrived
 *   - the errors of `changeBucket`
 */
export function commitUpload(deps: FilesContext): Rpc<'CommitUpload'> {
  return async ({ ticket, key }, { principal }) => {
    const opened = deps.openTicket(ticket, 'write');
    const { entityId } = opened;
    const entry = await changeBucket(deps, entityId, async (tx, bucket): Promise<FileEntry> => {
      const found = await findFile(tx, entityId, key);
      if (found === undefined) throw noSuchFile(entityId, key);
      if (found.content === null)
        throw new ServiceError('invalid', `File with key ${key} has no content.`, {
          code: 'file_without_content',
        });
      const metadata = found.metadata ?? JSON.stringify(found.content.dimensions ?? {});
      const updatedAt = deps.now();
      await executeWithNext(tx, COMPLETE, entityId, key, metadata, updatedAt);
      if (!found.isCompleted) {
        const { sizeBytes, md5 } = found.content;
        const metadata = { key, size: sizeBytes, checksum: `md5:${md5}` };
        const entry = ticketEntry(principal, 'file.commit', opened, metadata);
        await appendAudited(tx, [entryEvent('completed', bucket, key)], [entry]);
      }
      await failpoint('files.commit.inside');
      return { ...found, isCompleted: true, metadata, updatedAt };
    });
    return { entry: fileEntryMessage(entry) };
  };
}
