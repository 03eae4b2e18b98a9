import { appendAudited, ticketEntry } from '@kr/audit-trail';
import { executeWithNext, type Sql } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import { changeBucket } from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';
import { fileEntryMessage, listFiles } from '../file-entry.ts';
import { invalidField } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';
import { entryEvent } from './entry-event.ts';

const IMPORT = `
  with owned as (
    update bucket set owner_id = $2
    where entity_id = $1 and $2::text is not null and owner_id is distinct from $2)
  insert into entry
    (entity_id, key, position, state, metadata, object_id, version_id, mimetype, created_at, updated_at, creation_key)
  select $1, key, position, state, metadata, object_id, gen_random_uuid(), mimetype, $3::timestamptz, $3::timestamptz, $5::bytea
  from entry where entity_id = $4 and state = 'completed'`;

/**
 * RPC ImportEntries. No byte is copied: the new entries refer to the same objects. A repeated call with the same creation key
 * changes nothing.
 *
 * @throws ServiceError
 *   - `not_found`: the ticket names no source, because there is no earlier version
 *   - `invalid`: the bucket has entries
 *   - the errors of `changeBucket`
 */
export function importEntries(deps: FilesContext): Rpc<'ImportEntries'> {
  return async ({ ticket, creationKey }, { principal }) => {
    const key = creationKey.length === 0 ? null : creationKey;
    const opened = deps.openTicket(ticket, 'import');
    const { entityId, ownerId, sourceEntityId } = opened;
    if (sourceEntityId === null) throw new ServiceError('not_found', 'Not found.');
    const entries = await changeBucket(deps, entityId, async (tx, bucket) => {
      const present = await listFiles(tx, entityId);
      if (present.length > 0) {
        if (await hasEntryOf(tx, entityId, key)) return present;
        throw invalidField('files.enabled', 'Please remove all files first.');
      }
      await executeWithNext(tx, IMPORT, entityId, ownerId ?? null, deps.now(), sourceEntityId, key);
      const imported = await listFiles(tx, entityId);
      await appendAudited(
        tx,
        imported.map((entry) => entryEvent('completed', bucket, entry.key)),
        imported.map((entry) =>
          ticketEntry(principal, 'file.import', opened, { key: entry.key, from: sourceEntityId }),
        ),
      );
      return imported;
    });
    return { entries: entries.map(fileEntryMessage) };
  };
}

async function hasEntryOf(tx: Sql, entityId: string, creationKey: Uint8Array | null): Promise<boolean> {
  const created = await tx.$queryRawUnsafe<unknown[]>(
    'select from entry where entity_id = $1 and creation_key = $2 limit 1',
    entityId,
    creationKey,
  );
  return created.length > 0;
}
