import type { UpdateEntryMetadataRequest__Output, UpdateEntryMetadataResponse } from '@kr/contracts';
import { type ChangeBucketDeps, changeBucket } from '../buckets/change-bucket.ts';
import type { FileEntry } from '../file-entry.ts';
import { fileEntryMessage } from '../file-entry-message.ts';
import { noSuchFile } from '../file-errors.ts';
import type { OpenTicket } from '../open-ticket.ts';
import { findEntry } from '../store/entry-store.ts';
import { entryMetadata } from './entry-metadata.ts';

/**
 * RPC UpdateEntryMetadata.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: not a JSON object
 *   - what `changeBucket` throws
 */
export function updateEntryMetadata(deps: ChangeBucketDeps & { openTicket: OpenTicket }) {
  return async ({
    ticket,
    key,
    metadataJson,
  }: UpdateEntryMetadataRequest__Output): Promise<UpdateEntryMetadataResponse> => {
    const { entityId } = deps.openTicket(ticket, 'write');
    const metadata = entryMetadata(metadataJson, 'metadata') ?? '{}';
    const entry = await changeBucket(deps, entityId, async (tx): Promise<FileEntry> => {
      const found = await findEntry(tx, entityId, key);
      if (found === undefined) throw noSuchFile(entityId, key);
      const updatedAt = deps.now();
      await tx.entry.update({ where: { entityId_key: { entityId, key } }, data: { metadata, updatedAt } });
      return { ...found, metadata, updatedAt };
    });
    return { entry: fileEntryMessage(entry) };
  };
}
