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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
