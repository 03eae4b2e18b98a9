import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@kr/service-error';
import { Server } from '@tus/server';
import { checkChangeable } from '../buckets/change-bucket.ts';
import { invalidField } from '../file-errors.ts';
import { bufferedBody, type ChunkBuffers, type ProgressLimits } from '../http/body.ts';
import type { BytesPath } from '../http/content-path.ts';
import { breakOff, HttpRefusal, stalled } from '../http/errors.ts';
import { runningHashes } from './receive-bytes.ts';
import { EntryUploads, type EntryUploadsDeps, EXTENSIONS, type UploadRequest } from './tus-store.ts';
import {
  CHECKSUM_ALGORITHMS,
  offsetMismatch,
  TUS_VERSION,
  unsupportedType,
  unsupportedVersion,
  uploadChecksum,
  uploadTooLarge,
} from './upload.ts';

const CHUNK_TYPE = 'application/offset+octet-stream';

/** The parts of a request for the tus server. */
const SHOWN = [
  'tus-resumable',
  'upload-length',
  'upload-defer-length',
  'upload-offset',
  'upload-metadata',
  'content-length',
] as const;

/** The headers taken from its answer; the others would open the interface to every web page. */
const TOLD = [
  'location',
  'upload-offset',
  'upload-length',
  'upload-defer-length',
  'upload-metadata',
  'cache-control',
] as const;

function headerOf(request: IncomingMessage, name: string): string | undefined {
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
function checkedHeaders(request: IncomingMessage, { maxFileBytes }: { maxFileBytes: number }): Headers {
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

function publicHeaders(answer: Response): Record<string, string> {
  const told: Record<string, string> = {};
  for (const name of TOLD) {
    const value = answer.headers.get(name);
    if (value !== null) told[name] = value;
  }
  return told;
}

export interface AnswerTusDeps extends Omit<EntryUploadsDeps, 'hashes'> {
  buffers: ChunkBuffers;
  progress: ProgressLimits;
}

type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  path: BytesPath,
  ownerId: string | null,
) => Promise<void>;

/** OPTIONS /uploads/…: what is offered of the protocol. */
export function tusCapabilities({ maxFileBytes }: Pick<AnswerTusDeps, 'maxFileBytes'>): Answer {
  return async (_request, response) => {
    response.writeHead(204, {
      'tus-resumable': TUS_VERSION,
      'tus-version': TUS_VERSION,
      'tus-extension': EXTENSIONS.join(','),
      'tus-max-size': maxFileBytes,
      'tus-checksum-algorithm': CHECKSUM_ALGORITHMS.join(','),
    });
    response.end();
  };
}

/**
 * POST /uploads/{entityId}/{key} and HEAD, PATCH, DELETE /uploads/{entityId}/{key}/{uploadId}: resumable uploads of a
 * pending entry by tus 1.0. The library implements the protocol; missing checks are done before it, and missing headers added after it.
 * @throws ServiceError, HttpRefusal refusals of the protocol, the bucket or the storage
 */
export function answerTus(given: AnswerTusDeps): Answer {
  const deps = { ...given, hashes: runningHashes(given.newHash, given.logger) };
  return async (request, response, { entityId, key, uploadId }, ownerId) => {
    response.setHeader('tus-resumable', TUS_VERSION);
    const headers = checkedHeaders(request, deps);
    const checksum = uploadChecksum(headerOf(request, 'upload-checksum'));
    await checkChangeable(deps, entityId);

    const id = uploadId ?? deps.newId();
    const body: UploadRequest['body'] = (lease, reader) => {
      lease.onWanted((reason) => breakOff(request, response, reason));
      if (request.headers.expect !== undefined) response.writeContinue();
      const onStall = () => breakOff(request, response, stalled());
      return bufferedBody(request, { ...deps, ...reader, onStall });
    };
    const metadata = headers.get('upload-metadata') ?? '';
    const uploads = new EntryUploads(
      deps,
      { entityId, key, ownerId },
      { uploadId, metadata, checksum, body },
    );
    let failure: unknown;
    const server = new Server({
      path: '/',
      datastore: uploads,
      locker: uploads,
      maxSize: deps.maxFileBytes,
      namingFunction: () => id,
      getFileIdFromRequest: () => id,
      generateUrl: () => `/uploads/${encodeURIComponent(entityId)}/${encodeURIComponent(key)}/${id}`,
      onResponseError: (_request, error) => {
        failure = error;
        return undefined;
      },
    });
    const { method = '' } = request;
    const answer = await server.handleWeb(new Request(`http://files/${id}`, { method, headers }));
    if (failure !== undefined) throw refusalOf(failure, uploads, deps.maxFileBytes);
    if (answer.status >= 400) throw new HttpRefusal(answer.status, (await answer.text()).trim());
    send(response, answer, uploads);
  };
}

/** The library throws a status and a text. */
function refusalOf(failure: unknown, { upload }: EntryUploads, maxFileBytes: number): unknown {
  if (failure instanceof ServiceError || failure instanceof HttpRefusal) return failure;
  if (typeof failure !== 'object' || failure === null) return failure;
  if (!('status_code' in failure) || !('body' in failure)) return failure;
  const status = Number(failure.status_code);
  if (status === 409) return offsetMismatch();
  if (status === 413) return uploadTooLarge(upload?.lengthBytes ?? maxFileBytes);
  return new HttpRefusal(status, String(failure.body).trim());
}

function send(response: ServerResponse, answer: Response, { upload }: EntryUploads): void {
  const headers = publicHeaders(answer);
  if (upload !== undefined && !upload.isFinished) headers['upload-expires'] = upload.expiresAt.toUTCString();
  if (answer.status !== 204) headers['content-length'] = '0';
  response.writeHead(answer.status, headers).end();
}
