import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { ServiceError } from '@kr/service-error';
import { DataStore, type Lock, type Locker, Metadata, Server, Upload as TusUpload } from '@tus/server';
import { isUuid } from '../blob/blob-store.ts';
import { checkChangeable } from '../buckets/change-bucket.ts';
import { invalidField } from '../file-errors.ts';
import { type BodyReader, bufferedBody, type ChunkBuffers, type ProgressLimits } from '../http/body.ts';
import type { BytesPath, Respond } from '../http/content-path.ts';
import { breakOff, HttpRefusal, stalled } from '../http/errors.ts';
import {
  type BeginUploadDeps,
  beginUpload,
  declareLength,
  type HeldUpload,
  terminateUpload,
} from './begin-upload.ts';
import { type FinishUploadDeps, finishUpload, receiveBytes, runningHashes } from './receive-bytes.ts';
import {
  CHECKSUM_ALGORITHMS,
  isComplete,
  noSuchUpload,
  offsetMismatch,
  TUS_VERSION,
  type Upload,
  type UploadChecksum,
  unsupportedType,
  unsupportedVersion,
  uploadChecksum,
  uploadExpired,
  uploadTooLarge,
} from './upload.ts';
import { acquireLease } from './upload-lease.ts';

const EXTENSIONS = 'creation,creation-with-upload,creation-defer-length,checksum,termination,expiration';
const CHUNK_TYPE = 'application/offset+octet-stream';

/** The request headers that the library reads. */
const REQUEST_HEADERS = /^(?:tus-resumable|content-length|upload-(?:length|defer-length|offset|metadata))$/;
/** The headers taken from the library's answer; the others would open the interface to every web page. */
const ANSWER_HEADERS = /^(?:location|cache-control|upload-.*)$/;

interface UploadsDeps extends BeginUploadDeps, FinishUploadDeps {
  buffers: ChunkBuffers;
  progress: ProgressLimits;
}

export type AnswerTusDeps = Omit<UploadsDeps, 'hashes'>;

/** One request for an upload. */
interface TusRequest {
  /** Undefined where an upload is created. */
  uploadId: string | undefined;
  entry: Pick<Upload, 'entityId' | 'key' | 'ownerId' | 'metadata'>;
  checksum: UploadChecksum | undefined;
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * The uploads of one entry as one request sees them: the library stores and locks by it. The bytes do not pass
 * through the library, whose streams would double the cost of each chunk; `write` takes them from the request.
 */
class RequestedUpload extends DataStore implements Locker {
  override readonly extensions = EXTENSIONS.split(',');
  readonly #deps: UploadsDeps;
  readonly #request: TusRequest;
  /** As this request has left it; undefined when there is none. */
  held: HeldUpload | undefined;

  constructor(deps: UploadsDeps, request: TusRequest) {
    super();
    this.#deps = deps;
    this.#request = request;
  }

  newLock(id: string): Lock {
    return {
      lock: async () => {
        if (this.#request.uploadId === undefined) return;
        if (!isUuid(id)) throw noSuchUpload();
        this.held = await acquireLease(this.#deps, { ...this.#request.entry, id }, this.#deps.newId());
      },
      unlock: async () => this.held?.lease.release(),
    };
  }

  override async create(created: TusUpload): Promise<TusUpload> {
    const lengthBytes = created.size ?? null;
    this.held = await beginUpload(this.#deps, { ...this.#request.entry, id: created.id, lengthBytes });
    if (lengthBytes === 0) await this.#receive(async function* () {});
    return created;
  }

  /** An upload that had received all bytes before a crash is finished first, so that no client gets a wrong end. */
  override async getUpload(id: string): Promise<TusUpload> {
    const { upload } = this.#held();
    if (!upload.isFinished && upload.expiresAt <= this.#deps.now()) throw uploadExpired();
    await this.#finishIfComplete();
    return new TusUpload({
      id,
      offset: upload.receivedBytes,
      ...(upload.lengthBytes === null ? {} : { size: upload.lengthBytes }),
      ...(upload.metadata === '' ? {} : { metadata: Metadata.parse(upload.metadata) }),
    });
  }

  override async declareUploadLength(_id: string, lengthBytes: number): Promise<void> {
    const held = this.#held();
    held.upload = await declareLength(this.#deps, held, lengthBytes);
  }

  override async write(nothing: Readable): Promise<number> {
    nothing.resume();
    try {
      return await this.#receive((reader) => this.#body(reader));
    } catch (error) {
      // The client never learnt its address.
      if (this.#request.uploadId === undefined) await this.remove();
      // The request that deleted the upload removed its bytes, but this one may have written more of them since.
      else if (error instanceof ServiceError && error.kind === 'not_found')
        await this.#deps.blobs.removeIncomplete(this.#held().upload.id);
      throw error;
    }
  }

  override async remove(): Promise<void> {
    await terminateUpload(this.#deps, this.#held());
    this.held = undefined;
  }

  /** The bytes of the request. When the lease is wanted elsewhere they end, and the request is answered. */
  #body(reader: BodyReader): AsyncIterable<Uint8Array> {
    const { request, response } = this.#request;
    this.#held().lease.onWanted((reason) => breakOff(request, response, reason));
    if (request.headers.expect !== undefined) response.writeContinue();
    const onStall = () => breakOff(request, response, stalled());
    return bufferedBody(request, { ...this.#deps, ...reader, onStall });
  }

  async #receive(body: (reader: BodyReader) => AsyncIterable<Uint8Array>): Promise<number> {
    const held = this.#held();
    const { checksum } = this.#request;
    held.upload = await receiveBytes(this.#deps, held.upload, { body, checksum, lease: held.lease });
    await this.#finishIfComplete();
    return held.upload.receivedBytes;
  }

  async #finishIfComplete(): Promise<void> {
    const held = this.#held();
    if (isComplete(held.upload) && !held.upload.isFinished)
      held.upload = await finishUpload(this.#deps, held.upload, held.lease);
  }

  #held(): HeldUpload {
    if (this.held === undefined) throw new Error('an upload is written to without its lease');
    return this.held;
  }
}

/** OPTIONS /uploads/…: the supported parts of the protocol. */
export function tusCapabilities({ maxFileBytes }: Pick<AnswerTusDeps, 'maxFileBytes'>): Respond<BytesPath> {
  return async (_request, response) => {
    response.writeHead(204, {
      'tus-resumable': TUS_VERSION,
      'tus-version': TUS_VERSION,
      'tus-extension': EXTENSIONS,
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
export function answerTus(given: AnswerTusDeps): Respond<BytesPath> {
  const deps = { ...given, hashes: runningHashes(given.newHash) };
  return async (request, response, { entityId, key, uploadId }, { ownerId }) => {
    response.setHeader('tus-resumable', TUS_VERSION);
    const headers = checkedHeaders(request, deps);
    const checksum = uploadChecksum(headerOf(request, 'upload-checksum'));
    await checkChangeable(deps, entityId);

    const id = uploadId ?? deps.newId();
    const metadata = headers.get('upload-metadata') ?? '';
    const entry = { entityId, key, ownerId: ownerId ?? null, metadata };
    const uploads = new RequestedUpload(deps, { uploadId, entry, checksum, request, response });
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
    const { method = 'GET' } = request;
    const answer = await server.handleWeb(new Request(`http://files/${id}`, { method, headers }));
    const upload = uploads.held?.upload;
    if (failure !== undefined) throw refusalOf(failure, upload?.lengthBytes ?? deps.maxFileBytes);
    if (answer.status >= 400) throw new HttpRefusal(answer.status, (await answer.text()).trim());
    send(response, answer, upload);
  };
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  return request.headers[name]?.toString();
}

/**
 * The headers of a request for the library, after the checks that it lacks (tus 1.0, section 2.2).
 * @throws HttpRefusal 412: another version of the protocol; 415: a PATCH of another type
 * @throws ServiceError `invalid`, `too_large` (`upload_too_large`)
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
  // The library finds this only after the upload has replaced the one before.
  const allowed = Number(headerOf(request, 'upload-length') ?? maxFileBytes);
  const isPostedChunk = request.method === 'POST' && type === CHUNK_TYPE;
  if (isPostedChunk && Number(headerOf(request, 'content-length')) > allowed) throw uploadTooLarge(allowed);
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(request.headers))
    if (REQUEST_HEADERS.test(name)) headers.set(name, value.toString());
  // Some clients send Upload-Metadata without any.
  if (headers.get('upload-metadata')?.trim() === '') headers.delete('upload-metadata');
  // A POST may have a type without having a chunk.
  if (type === CHUNK_TYPE) headers.set('content-type', CHUNK_TYPE);
  return headers;
}

/** The library throws a status and a text. @param maxBytes the most bytes that the upload may have */
function refusalOf(failure: unknown, maxBytes: number): unknown {
  if (failure instanceof ServiceError || failure instanceof HttpRefusal) return failure;
  if (typeof failure !== 'object' || failure === null) return failure;
  if (!('status_code' in failure) || !('body' in failure)) return failure;
  const status = Number(failure.status_code);
  if (status === 409) return offsetMismatch();
  if (status === 413) return uploadTooLarge(maxBytes);
  return new HttpRefusal(status, String(failure.body).trim());
}

function send(response: ServerResponse, answer: Response, upload: Upload | undefined): void {
  for (const [name, value] of answer.headers) if (ANSWER_HEADERS.test(name)) response.setHeader(name, value);
  if (upload?.isFinished === false) response.setHeader('upload-expires', upload.expiresAt.toUTCString());
  if (answer.status !== 204) response.setHeader('content-length', '0');
  response.writeHead(answer.status).end();
}
