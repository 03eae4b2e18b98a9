import { entryRows, insertEntries, ticketEntry } from '@kr/audit-trail';
import { executeWithNext } from '@kr/database';
import { changeBucket } from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';
import { type FileEntry, fileEntryMessage, findFile } from '../file-entry.ts';
import { invalidField, noSuchFile } from '../file-errors.ts';
import type { Rpc } from '../rpc.ts';

const MAX_METADATA_BYTES = 65_536;

/**
 * The stored JSON text of an entry's metadata; null if the client sent none.
 * @throws ServiceError `invalid`: not a JSON object, or longer than 64 KiB
 */
export function entryMetadata(json: Uint8Array, field: string): string | null {
  if (json.length === 0) return null;
  if (json.length > MAX_METADATA_BYTES)
    throw invalidField(field, `Longer than maximum length ${MAX_METADATA_BYTES}.`);
  const value = parse(Buffer.from(json).toString('utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidField(field, 'Not a valid mapping type.');
  return JSON.stringify(value);
}

/** Metadata of all files of one entity, in bytes: every listing carries it. */
const MAX_METADATA_OF_ENTITY_BYTES = 1_048_576;

/** @throws ServiceError `invalid`: the files of an entity would have more metadata together than 1 MiB */
export function assertMetadataFits(bytes: number, field: string): void {
  if (bytes > MAX_METADATA_OF_ENTITY_BYTES)
    throw invalidField(
      field,
      `The metadata of all files together may have at most ${MAX_METADATA_OF_ENTITY_BYTES} bytes.`,
    );
}

export function metadataBytes(metadata: string | null): number {
  return metadata === null ? 0 : Buffer.byteLength(metadata);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const UPDATE = `
  with updated as (
    update entry set metadata = $3, updated_at = $4 where entity_id = $1 and key = $2 returning key
  )
  ${insertEntries('$5', 'updated')}`;

const METADATA_OF_OTHERS = `
  select coalesce(sum(octet_length(metadata)), 0)::int as bytes from entry where entity_id = $1 and key <> $2`;

/**
 * RPC UpdateEntryMetadata. Equal metadata changes nothing and adds no audit entry.
 * @throws ServiceError - `not_found`: no such file - `invalid`: not a JSON object - the errors of `changeBucket`
 */
export function updateEntryMetadata(deps: FilesContext): Rpc<'UpdateEntryMetadata'> {
  return async ({ ticket, key, metadataJson }, { principal }) => {
    const opened = deps.openTicket(ticket, 'write');
    const { entityId } = opened;
    const metadata = entryMetadata(metadataJson, 'metadata') ?? '{}';
    const entry = await changeBucket(deps, entityId, async (tx): Promise<FileEntry> => {
      const found = await findFile(tx, entityId, key);
      if (found === undefined) throw noSuchFile(entityId, key);
      if (found.metadata === metadata) return found;
      if (metadataBytes(metadata) > metadataBytes(found.metadata)) {
        const others = await tx.$queryRawUnsafe<{ bytes: number }[]>(METADATA_OF_OTHERS, entityId, key);
        assertMetadataFits((others[0]?.bytes ?? 0) + metadataBytes(metadata), 'metadata');
      }
      const updatedAt = deps.now();
      const entry = ticketEntry(principal, 'file.update', opened, { key });
      await executeWithNext(tx, UPDATE, entityId, key, metadata, updatedAt, entryRows([entry]));
      return { ...found, metadata, updatedAt };
    });
    return { entry: fileEntryMessage(entry) };
  };
}
