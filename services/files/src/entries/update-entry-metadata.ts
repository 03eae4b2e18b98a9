import { entryRows, insertEntries, ticketEntry } from '@kr/audit-trail';
import type { UpdateEntryMetadataRequest__Output, UpdateEntryMetadataResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { type ChangeBucketDeps, changeBucket } from '../buckets/change-bucket.ts';
import type { FileEntry } from '../file-entry.ts';
import { fileEntryMessage } from '../file-entry-message.ts';
import { noSuchFile } from '../file-errors.ts';
import type { OpenTicket } from '../open-ticket.ts';
import { findEntry } from '../store/entry-store.ts';
import { assertMetadataFits, entryMetadata, metadataBytes } from './entry-metadata.ts';

const UPDATE = `
  with updated as (
    update entry set metadata = $3, updated_at = $4::timestamptz where entity_id = $1 and key = $2 returning key
  )
  ${insertEntries('$5', 'updated')}`;

/**
 * RPC UpdateEntryMetadata. What is said already changes nothing and leaves no trail.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: not a JSON object
 *   - what `changeBucket` throws
 */
export function updateEntryMetadata(deps: ChangeBucketDeps & { openTicket: OpenTicket }) {
  return async (
    { ticket, key, metadataJson }: UpdateEntryMetadataRequest__Output,
    { principal }: CallContext,
  ): Promise<UpdateEntryMetadataResponse> => {
    const opened = deps.openTicket(ticket, 'write');
    const { entityId } = opened;
    const metadata = entryMetadata(metadataJson, 'metadata') ?? '{}';
    const entry = await changeBucket(deps, entityId, async (tx): Promise<FileEntry> => {
      const found = await findEntry(tx, entityId, key);
      if (found === undefined) throw noSuchFile(entityId, key);
      if (found.metadata === metadata) return found;
      if (metadataBytes(metadata) > metadataBytes(found.metadata)) {
        const others = await tx.$queryRaw<{ bytes: number }[]>`
          select coalesce(sum(octet_length(metadata)), 0)::int as bytes from entry
          where entity_id = ${entityId} and key <> ${key}`;
        assertMetadataFits((others[0]?.bytes ?? 0) + metadataBytes(metadata), 'metadata');
      }
      const updatedAt = deps.now();
      const entry = ticketEntry(principal, 'file.update', opened, { key });
      await tx.$executeRawUnsafe(
        UPDATE,
        entityId,
        key,
        metadata,
        updatedAt.toISOString(),
        entryRows([entry]),
      );
      return { ...found, metadata, updatedAt };
    });
    return { entry: fileEntryMessage(entry) };
  };
}
