import type { Readable } from 'node:stream';
import { ServiceError } from '@kr/service-error';
import { DataStore, type Lock, type Locker, Metadata, Upload as TusUpload } from '@tus/server';
import { type ChangeBucketDeps, changeBucket } from '../buckets/change-bucket.ts';
import { checkPending } from '../buckets/pending-file.ts';
import type { BodyReader } from '../http/body.ts';
import type { ContentPath } from '../http/content-path.ts';
import { reserveForUpload } from '../quota/reserve-for-upload.ts';
import { lockEntry } from '../store/entry-store.ts';
import { type FinishUploadDeps, finishUpload, type ReceiveBytesDeps, receiveBytes } from './receive-bytes.ts';
import type { UploadChecksum } from './upload.ts';
import {
  isComplete,
  noSuchUpload,
  type Upload,
  uploadExpired,
  uploadInUse,
  uploadTooLarge,
} from './upload.ts';
import { acquireLease, heldLease, LEASE_MS, type LeaseDeps, type UploadLease } from './upload-lease.ts';
import { deleteUpload, replaceUpload, saveLength } from './upload-store.ts';

export interface EntryUploadsDeps extends ReceiveBytesDeps, FinishUploadDeps, LeaseDeps, ChangeBucketDeps {}

/** The entry that an upload fills, and its owner by the ticket. */
export interface EntryPath extends ContentPath {
  ownerId: string | null;
}

/** The inputs of one request. */
export interface UploadRequest {
  /** Undefined where an upload is created. */
  uploadId: string | undefined;
  /** The header Upload-Metadata; empty when there is none. */
  metadata: string;
  checksum: UploadChecksum | undefined;
  /** The bytes, chunk by chunk. When the lease is wanted elsewhere they end, and the request is answered. */
  body(lease: UploadLease, reader: BodyReader): AsyncIterable<Uint8Array>;
}

/** Of the protocol. */
export const EXTENSIONS = [
  'creation',
  'creation-with-upload',
  'creation-defer-length',
  'checksum',
  'termination',
  'expiration',
] as const;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The uploads of one entry as one request sees them: what the tus server stores by, and locks by. The bytes do not pass
 * through the server, whose streams would double the cost of each chunk; `write` takes them from the request.
 */
export class EntryUploads extends DataStore implements Locker {
  override readonly extensions = [...EXTENSIONS];
  readonly #deps: EntryUploadsDeps;
  readonly #entry: EntryPath;
  readonly #request: UploadRequest;
  #upload: Upload | undefined;
  #lease: UploadLease | undefined;

  constructor(deps: EntryUploadsDeps, entry: EntryPath, request: UploadRequest) {
    super();
    this.#deps = deps;
    this.#entry = entry;
    this.#request = request;
  }

  /** The upload as this request has left it; undefined when there is none. */
  get upload(): Upload | undefined {
    return this.#upload;
  }

  newLock(id: string): Lock {
    return {
      lock: async () => {
        // One that is created is leased from its first moment.
        if (this.#request.uploadId === undefined) return;
        if (!UUID.test(id)) throw noSuchUpload();
        const held = await acquireLease(this.#deps, { ...this.#entry, id }, this.#deps.newId());
        this.#upload = held.upload;
        this.#lease = held.lease;
      },
      unlock: async () => this.#lease?.release(),
    };
  }

  /** In place of the upload that the entry had. @throws ServiceError as `checkPending` does */
  override async create(tusUpload: TusUpload): Promise<TusUpload> {
    const { blobs, hashes, now, newId, uploadExpiryMs } = this.#deps;
    const createdAt = now();
    const upload: Upload = {
      ...this.#entry,
      id: tusUpload.id,
      lengthBytes: tusUpload.size ?? null,
      receivedBytes: 0,
      metadata: this.#request.metadata,
      expiresAt: new Date(createdAt.getTime() + uploadExpiryMs),
      isFinished: false,
    };
    const [holder, since] = [newId(), performance.now()];
    const replaced = await reserveForUpload(this.#deps, upload, async (tx) => {
      await lockEntry(tx, this.#entry.entityId, this.#entry.key);
      await checkPending(tx, this.#entry);
      return replaceUpload(tx, { ...upload, createdAt, leaseHolder: holder, leaseMs: LEASE_MS });
    });
    this.#upload = upload;
    this.#lease = heldLease(this.#deps, { id: upload.id, holder, since });
    if (replaced !== undefined) {
      hashes.forget(replaced);
      await blobs.removeIncomplete(replaced);
    }
    if (isComplete(upload)) await this.#receive(async function* () {});
    return tusUpload;
  }

  /**
   * An upload that had received all bytes before a crash is finished first, so that no client gets a wrong end.
   * @throws ServiceError `not_found`
   * @throws HttpRefusal 410: it has expired
   */
  override async getUpload(id: string): Promise<TusUpload> {
    const { upload } = this.#held();
    if (!upload.isFinished && upload.expiresAt <= this.#deps.now()) throw uploadExpired();
    if (isComplete(upload)) await this.#finish();
    return new TusUpload({
      id,
      offset: upload.receivedBytes,
      ...(upload.lengthBytes === null ? {} : { size: upload.lengthBytes }),
      ...(upload.metadata === '' ? {} : { metadata: Metadata.parse(upload.metadata) }),
    });
  }

  override async declareUploadLength(id: string, lengthBytes: number): Promise<void> {
    const { lease, upload } = this.#held();
    const isSaved = await reserveForUpload(this.#deps, { ...this.#entry, id, lengthBytes }, (tx) =>
      saveLength(tx, { id, leaseHolder: lease.holder, lengthBytes }),
    );
    if (!isSaved) throw uploadInUse();
    this.#upload = { ...upload, lengthBytes };
  }

  override async write(nothing: Readable): Promise<number> {
    nothing.resume();
    const { lease } = this.#held();
    try {
      return await this.#receive((reader) => this.#request.body(lease, reader));
    } catch (error) {
      // The client never learnt its address.
      if (this.#request.uploadId === undefined) await this.#terminate();
      // The request that deleted the upload removed its bytes, but this one may have written more of them since.
      else if (isGone(error)) await this.#deps.blobs.removeIncomplete(this.#held().upload.id);
      throw error;
    }
  }

  /** A finished upload takes its bytes from the entry again, unless that is committed. */
  override async remove(): Promise<void> {
    await this.#terminate();
  }

  async #receive(body: (reader: BodyReader) => AsyncIterable<Uint8Array>): Promise<number> {
    const { lease, upload } = this.#held();
    const { checksum } = this.#request;
    if (upload.isFinished) {
      const admit = async () => {
        throw uploadTooLarge(upload.receivedBytes);
      };
      for await (const _ of body({ admit, hash: { update: async () => {} } }));
      return upload.receivedBytes;
    }
    const grown = await receiveBytes(this.#deps, upload, { body, checksum, lease });
    this.#upload = grown;
    if (isComplete(grown)) await this.#finish();
    return grown.receivedBytes;
  }

  async #finish(): Promise<void> {
    const { lease, upload } = this.#held();
    if (!upload.isFinished) this.#upload = await finishUpload(this.#deps, upload, lease);
  }

  async #terminate(): Promise<void> {
    const { lease, upload } = this.#held();
    const { database, blobs, hashes } = this.#deps;
    // The lease ends with the upload: its loss is no error.
    await lease.endBy(() => (upload.isFinished ? this.#detach(upload) : deleteUpload(database, upload.id)));
    await blobs.removeIncomplete(upload.id);
    hashes.forget(upload.id);
    this.#upload = undefined;
  }

  #detach({ id, entityId, key }: Upload): Promise<void> {
    return changeBucket(this.#deps, entityId, async (tx) => {
      await checkPending(tx, this.#entry);
      await tx.entry.updateMany({
        where: { entityId, key, objectId: id },
        data: { objectId: null, versionId: null, mimetype: null },
      });
      await deleteUpload(tx, id);
    });
  }

  #held(): { lease: UploadLease; upload: Upload } {
    if (this.#lease === undefined || this.#upload === undefined)
      throw new Error('an upload is written to without its lease');
    return { lease: this.#lease, upload: this.#upload };
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === 'not_found';
}
