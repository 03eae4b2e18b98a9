import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { ServiceError } from '@kr/service-error';
import {
  DataStore,
  ERRORS,
  type Lock,
  type Locker,
  Metadata,
  Server,
  Upload as TusUpload,
} from '@tus/server';
import { isUuid } from '../blob/blob-store.ts';
import { checkChangeable } from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';
import { invalidField } from '../file-errors.ts';
import { type BodyReader, bufferedBody } from '../http/body.ts';
import type { BytesPath, Respond, RespondToAnyone } from '../http/content-path.ts';
import { answerAndClose, HttpRefusal, stalled } from '../http/errors.ts';
import { beginUpload, declareLength, terminateUpload } from './begin-upload.ts';
import { finishIfComplete, receiveBytes, type UploadChecksum } from './receive-bytes.ts';
import { noSuchUpload, type Upload, uploadTooLarge } from './upload.ts';
import { CHECKSUM_ALGORITHMS, uploadChecksum } from './upload-checksum.ts';
import { acquireLease, type LeasedUpload } from './upload-lease.ts';

const VERSION = '1.0.0';
const EXTENSIONS = 'creation,creation-with-upload,creation-defer-length,checksum,termination,expiration';
const CHUNK_TYPE = 'application/offset+octet-stream';

/** The request headers that the library reads. */
const REQUEST_HEADERS =
  /^(?:tus-resumable|content-length|upload-(?:length|defer-length|offset|metadata|concat))$/;
/** The headers taken from the library's answer; the others would open the interface to every web page. */
const ANSWER_HEADERS = /^(?:location|cache-control|upload-.*)$/;

/** The refusals of the library that have another status or a code in this API. */
const REFUSALS = new Map<unknown, (maxBytes: number) => Error>([
  [ERRORS.MISSING_OFFSET, () => invalidField('upload_offset', 'Missing data for required field.')],
  [
    ERRORS.INVALID_CONTENT_TYPE,
    () => new HttpRefusal(415, `Invalid 'Content-Type' header. Expected one of: ${CHUNK_TYPE}`),
  ],
  [
    ERRORS.UNSUPPORTED_CONCATENATION_EXTENSION,
    () => invalidField('upload_concat', 'Concatenation is not offered.'),
  ],
  [
    ERRORS.INVALID_OFFSET,
    () =>
      new ServiceError('conflict', 'Upload-Offset is not where the upload ends.', {
        code: 'upload_offset_mismatch',
      }),
  ],
  [ERRORS.ERR_SIZE_EXCEEDED, uploadTooLarge],
  [ERRORS.ERR_MAX_SIZE_EXCEEDED, uploadTooLarge],
]);

/** One request for an upload. */
interface TusRequest {
  /** Whether the request creates the upload. */
  isNew: boolean;
  upload: Pick<Upload, 'id' | 'entityId' | 'key' | 'ownerId' | 'metadata'>;
  checksum: UploadChecksum | undefined;
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * The uploads of one entity as one request sees them: the library stores and locks by it. The bytes do not pass
 * through the library, whose streams would double the cost of each chunk; `write` takes them from the request.
 */
class RequestedUpload extends DataStore implements Locker {
  override readonly extensions = EXTENSIONS.split(',');
  readonly #deps: FilesContext;
  readonly #request: TusRequest;
  /** State after this request; undefined if it has no upload. */
  leased: LeasedUpload | undefined;

  constructor(deps: FilesContext, request: TusRequest) {
    super();
    this.#deps = deps;
    this.#request = request;
  }

  newLock(): Lock {
    const { isNew, upload } = this.#request;
    return {
      lock: async () => {
        if (isNew) return;
        if (!isUuid(upload.id)) throw noSuchUpload();
        this.leased = await acquireLease(this.#deps, upload, this.#deps.newId());
      },
      unlock: async () => this.leased?.lease.release(),
    };
  }

  override async create(created: TusUpload): Promise<TusUpload> {
    const { upload, request } = this.#request;
    const lengthBytes = created.size ?? null;
    // The library compares them only after the upload has replaced the one before.
    const maxBytes = lengthBytes ?? this.#deps.maxFileBytes;
    if (isChunk(request) && Number(request.headers['content-length']) > maxBytes)
      throw uploadTooLarge(maxBytes);
    this.leased = await beginUpload(this.#deps, { ...upload, lengthBytes });
    if (lengthBytes === 0) await this.#receive(async function* () {});
    return created;
  }

  /** An upload that had received all bytes before a crash is finished first, so that no client gets a wrong end. */
  override async getUpload(id: string): Promise<TusUpload> {
    const { upload } = this.#leasedUpload();
    if (!upload.isFinished && upload.expiresAt <= this.#deps.now())
      throw new HttpRefusal(410, 'The upload has expired.', { code: 'upload_expired' });
    await finishIfComplete(this.#deps, this.#leasedUpload());
    const { receivedBytes: offset, lengthBytes, metadata } = upload;
    return new TusUpload({
      id,
      offset,
      ...(lengthBytes !== null && { size: lengthBytes }),
      ...(metadata !== '' && { metadata: Metadata.parse(metadata) }),
    });
  }

  override async declareUploadLength(_id: string, lengthBytes: number): Promise<void> {
    const leased = this.#leasedUpload();
    leased.upload = await declareLength(this.#deps, leased, lengthBytes);
  }

  override async write(nothing: Readable): Promise<number> {
    nothing.resume();
    try {
      return await this.#receive((reader) => this.#body(reader));
    } catch (error) {
      // The client never learnt its address.
      if (this.#request.isNew) await this.remove();
      // The request that deleted the upload removed its bytes, but this one may have written more of them since.
      else if (error instanceof ServiceError && error.kind === 'not_found')
        await this.#deps.blobs.removeIncomplete(this.#leasedUpload().upload.id);
      throw error;
    }
  }

  override async remove(): Promise<void> {
    await terminateUpload(this.#deps, this.#leasedUpload());
    this.leased = undefined;
  }

  /** The bytes of the request. When another request needs the lease they end, and the request is answered. */
  #body(reader: BodyReader): AsyncIterable<Uint8Array> {
    const { request, response } = this.#request;
    this.#leasedUpload().lease.onRequested((reason) => answerAndClose(request, response, reason));
    if (request.headers.expect !== undefined) response.writeContinue();
    const onStall = () => answerAndClose(request, response, stalled());
    return bufferedBody(request, { ...this.#deps, ...reader, onStall });
  }

  async #receive(body: (reader: BodyReader) => AsyncIterable<Uint8Array>): Promise<number> {
    const leased = this.#leasedUpload();
    leased.upload = await receiveBytes(this.#deps, leased, { body, checksum: this.#request.checksum });
    await finishIfComplete(this.#deps, leased);
    return leased.upload.receivedBytes;
  }

  #leasedUpload(): LeasedUpload {
    if (this.leased === undefined) throw new Error('an upload is written to without its lease');
    return this.leased;
  }
}

/** OPTIONS /uploads/…: the supported parts of the protocol. */
export function tusCapabilities({ maxFileBytes }: Pick<FilesContext, 'maxFileBytes'>): RespondToAnyone {
  return (response) => {
    response.writeHead(204, {
      'tus-resumable': VERSION,
      'tus-version': VERSION,
      'tus-extension': EXTENSIONS,
      'tus-max-size': maxFileBytes,
      'tus-checksum-algorithm': CHECKSUM_ALGORITHMS.join(','),
    });
    response.end();
  };
}

/**
 * POST /uploads/{entityId}/{key} and HEAD, PATCH, DELETE /uploads/{entityId}/{key}/{uploadId}: resumable uploads of a
 * pending entry by tus 1.0, which the library implements.
 * @throws ServiceError, HttpRefusal refusals of the protocol, the bucket or the storage
 */
export function answerTus(deps: FilesContext): Respond<BytesPath> {
  return async (request, response, { entityId, ownerId = null }, { key, uploadId }) => {
    response.setHeader('tus-resumable', VERSION);
    const headers = headersFor(request);
    const checksum = uploadChecksum(request.headers['upload-checksum']?.toString());
    await checkChangeable(deps, entityId);

    const id = uploadId ?? deps.newId();
    const upload = { id, entityId, key, ownerId, metadata: headers.get('upload-metadata') ?? '' };
    const isNew = uploadId === undefined;
    const uploads = new RequestedUpload(deps, { isNew, upload, checksum, request, response });
    const limit = () => uploads.leased?.upload.lengthBytes ?? deps.maxFileBytes;
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
        failure = REFUSALS.get(error)?.(limit()) ?? (error instanceof Error ? error : undefined);
        return undefined;
      },
    });
    const { method = 'GET' } = request;
    const answer = await server.handleWeb(new Request(`http://files/${id}`, { method, headers }));
    if (failure !== undefined) throw failure;
    if (answer.status >= 400) throw new HttpRefusal(answer.status, (await answer.text()).trim());
    for (const [name, value] of answer.headers)
      if (ANSWER_HEADERS.test(name)) response.setHeader(name, value);
    const leased = uploads.leased?.upload;
    if (leased?.isFinished === false) response.setHeader('upload-expires', leased.expiresAt.toUTCString());
    if (answer.status !== 204) response.setHeader('content-length', '0');
    response.writeHead(answer.status).end();
  };
}

function isChunk(request: IncomingMessage): boolean {
  return request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() === CHUNK_TYPE;
}

/**
 * The headers of a request for the library.
 * @throws HttpRefusal 412: another version of the protocol, to which the library answers 400
 */
function headersFor(request: IncomingMessage): Headers {
  if (request.headers['tus-resumable'] !== VERSION)
    throw new HttpRefusal(412, `The header Tus-Resumable must be ${VERSION}.`, {
      code: 'tus_version_unsupported',
      headers: { 'tus-version': VERSION },
    });
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(request.headers))
    if (REQUEST_HEADERS.test(name)) headers.set(name, value.toString());
  // Some clients send Upload-Metadata without any.
  if (headers.get('upload-metadata')?.trim() === '') headers.delete('upload-metadata');
  // A POST may have a type without having a chunk.
  if (isChunk(request)) headers.set('content-type', CHUNK_TYPE);
  return headers;
}
