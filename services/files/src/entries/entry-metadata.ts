import { invalidField } from '../file-errors.ts';

const MAX_METADATA_BYTES = 65_536;

/**
 * The JSON text to keep of what a client sent as an entry's metadata; null where it sent nothing.
 *
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
