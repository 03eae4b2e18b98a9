import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@kr/service-error';
import { Server } from '@tus/server';
import { checkChangeable } from '../buckets/change-bucket.ts';
import type { ChunkBuffers } from '../content/chunk-buffers.ts';
import { breakOff, stalled } from '../content/content-error.ts';
import type { BytesPath } from '../content/content-path.ts';
import { gatheredBody, type ProgressLimits } from '../content/gathered-body.ts';
import { HttpRefusal } from '../content/http-refusal.ts';
import { EntryUploads, type EntryUploadsDeps, EXTENSIONS, type UploadRequest } from './entry-uploads.ts';
import { runningHashes } from './running-hashes.ts';
import { checkedHeaders, headerOf, publicHeaders } from './tus-headers.ts';
import { CHECKSUM_ALGORITHMS, uploadChecksum } from './upload-checksum.ts';
import { offsetMismatch, TUS_VERSION, uploadTooLarge } from './upload-errors.ts';

export interface AnswerTusDeps extends Omit<EntryUploadsDeps, 'hashes'> {
  buffers: ChunkBuffers;
  progress: ProgressLimits;
}

type Answer = (request: IncomingMessage, response: ServerResponse, path: BytesPath) => Promise<void>;

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
 * pending entry by tus 1.0. The library speaks the protocol; what it leaves out is checked before and told after it.
 *
 * @throws ServiceError, HttpRefusal whatever the protocol, the bucket or the storage refuses
 */
export function answerTus(given: AnswerTusDeps): Answer {
  const deps = { ...given, hashes: runningHashes(given.newHash, given.logger) };
  return async (request, response, { entityId, key, uploadId }) => {
    response.setHeader('tus-resumable', TUS_VERSION);
    const headers = checkedHeaders(request, deps);
    const checksum = uploadChecksum(headerOf(request, 'upload-checksum'));
    await checkChangeable(deps, entityId);

    const id = uploadId ?? deps.newId();
    const body: UploadRequest['body'] = (lease) => {
      lease.onWanted((reason) => breakOff(request, response, reason));
      if (request.headers.expect !== undefined) response.writeContinue();
      const onStall = () => breakOff(request, response, stalled());
      return gatheredBody(request, { ...deps, onStall });
    };
    const metadata = headers.get('upload-metadata') ?? '';
    const uploads = new EntryUploads(deps, { entityId, key }, { uploadId, metadata, checksum, body });
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

/** What the library throws is a status and a text. */
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
