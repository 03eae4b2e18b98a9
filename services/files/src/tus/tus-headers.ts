import type { IncomingMessage } from 'node:http';
import { invalidField } from '../file-errors.ts';
import { TUS_VERSION, unsupportedType, unsupportedVersion, uploadTooLarge } from './upload-errors.ts';

const CHUNK_TYPE = 'application/offset+octet-stream';

/** What the tus server is shown of a request. */
const SHOWN = [
  'tus-resumable',
  'upload-length',
  'upload-defer-length',
  'upload-offset',
  'upload-metadata',
  'content-length',
] as const;

/** What is told of its answer; the rest would open the interface to every web page. */
const TOLD = [
  'location',
  'upload-offset',
  'upload-length',
  'upload-defer-length',
  'upload-metadata',
  'cache-control',
] as const;

export function headerOf(request: IncomingMessage, name: string): string | undefined {
  return request.headers[name]?.toString();
}

/**
 * The headers of a request as the tus server reads them, after the checks that it lacks (tus 1.0, section 2.2).
 *
 * @throws HttpRefusal
 *   - 412: another version of the protocol
 *   - 415: a PATCH of another type
 * @throws ServiceError
 *   - `invalid`: a PATCH without Upload-Offset, or an extension that is not offered
 *   - `too_large` (`upload_too_large`): a POST with more bytes than the upload may have
 */
export function checkedHeaders(
  request: IncomingMessage,
  { maxFileBytes }: { maxFileBytes: number },
): Headers {
  if (headerOf(request, 'tus-resumable') !== TUS_VERSION) throw unsupportedVersion();
  const type = headerOf(request, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (request.method === 'PATCH') {
    if (type !== CHUNK_TYPE) throw unsupportedType();
    if (headerOf(request, 'upload-offset') === undefined)
      throw invalidField('upload_offset', 'Missing data for required field.');
  }
  if (headerOf(request, 'upload-concat') !== undefined)
    throw invalidField('upload_concat', 'Concatenation is not offered.');
  // Found by the server only when the upload is begun, in place of the one before.
  const allowed = Number(headerOf(request, 'upload-length') ?? maxFileBytes);
  if (
    request.method === 'POST' &&
    type === CHUNK_TYPE &&
    Number(headerOf(request, 'content-length')) > allowed
  )
    throw uploadTooLarge(allowed);
  const shown = new Headers();
  for (const name of SHOWN) {
    const value = headerOf(request, name);
    // Some clients send Upload-Metadata without any.
    if (value !== undefined && (name !== 'upload-metadata' || value.trim() !== '')) shown.set(name, value);
  }
  // A POST may have a type without having a chunk.
  if (type === CHUNK_TYPE) shown.set('content-type', CHUNK_TYPE);
  return shown;
}

export function publicHeaders(answer: Response): Record<string, string> {
  const told: Record<string, string> = {};
  for (const name of TOLD) {
    const value = answer.headers.get(name);
    if (value !== null) told[name] = value;
  }
  return told;
}
