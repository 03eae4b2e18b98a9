import { appendAudited, ticketEntry } from '@kr/audit-trail';
import type { ImportEntriesRequest__Output, ImportEntriesResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { OpenTicket } from '../access.ts';
import { type ChangeBucketDeps, changeBucket } from '../buckets/change-bucket.ts';
import { fileEntryMessage } from '../file-entry.ts';
import { invalidField } from '../file-errors.ts';
import { listEntries } from '../store/entry-store.ts';
import { entryEvent } from './entry-event.ts';

/**
 * RPC ImportEntries. No byte is copied: the new entries refer to the same objects.
 *
 * @throws ServiceError
 *   - `not_found`: the ticket names no source, because there is no earlier version
 *   - `invalid`: the bucket has entries
 *   - what `changeBucket` throws
 */
export function importEntries(deps: ChangeBucketDeps & { openTicket: OpenTicket }) {
  return async (
    { ticket }: ImportEntriesRequest__Output,
    { principal }: CallContext,
  ): Promise<ImportEntriesResponse> => {
    const opened = deps.openTicket(ticket, 'import');
    const { entityId, ownerId, sourceEntityId } = opened;
    if (sourceEntityId === null) throw new ServiceError('not_found', 'Not found.');
    const entries = await changeBucket(deps, entityId, async (tx, bucket) => {
      const isFilled = (await tx.entry.findFirst({ where: { entityId }, select: { key: true } })) !== null;
      if (isFilled) throw invalidField('files.enabled', 'Please remove all files first.');
      const at = deps.now();
      const owner = ownerId ?? null;
      await tx.$executeRaw`
        with owned as (
          update bucket set owner_id = ${owner}
          where entity_id = ${entityId} and ${owner}::text is not null and owner_id is distinct from ${owner})
        insert into entry (entity_id, key, position, state, metadata, object_id, version_id, mimetype, created_at, updated_at)
        select ${entityId}, key, position, state, metadata, object_id, gen_random_uuid(), mimetype, ${at}, ${at}
        from entry where entity_id = ${sourceEntityId} and state = 'completed'`;
      const imported = await listEntries(tx, entityId);
      await appendAudited(
        tx,
        imported.map(({ key }) => entryEvent('completed', bucket, key)),
        imported.map(({ key }) =>
          ticketEntry(principal, 'file.import', opened, { key, from: sourceEntityId }),
        ),
      );
      return imported;
    });
    return { entries: entries.map(fileEntryMessage) };
  };
}
