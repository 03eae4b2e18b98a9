import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import type { BlobStore, ByteRange, ListedBlob, OpenBlob, SizeHint, UnfinishedWrite } from './blob-store.ts';
import { MissingObject } from './blob-store.ts';
import { type ListedUpload, type S3Bucket, statusOf } from './s3-bucket.ts';
import { incompleteObjects } from './s3-incomplete-objects.ts';
import {
  createdOnce,
  OBJECTS,
  objectKey,
  objectOfKey,
  type PartsUpload,
  partBuffer,
  partSize,
  partsUpload,
} from './s3-objects.ts';

/** The object with the id of the store. */
const STORE_ID = 'store-id';

export interface S3BlobStoreDeps {
  bucket: S3Bucket;
  logger: Logger;
}

/**
 * Objects as `objects/<uuid>` of a bucket. Small ones are stored by one PUT, larger ones in parts of at least 8 MiB, of which
 * one is collected while at most four are being sent; both only if the key does not exist. Objects that arrive in
 * several appends are stored by `incompleteObjects`.
 */
export function s3BlobStore({ bucket, logger }: S3BlobStoreDeps): BlobStore {
  const incomplete = incompleteObjects(bucket);

  async function write(
    id: string,
    source: AsyncIterable<Uint8Array>,
    { sizeHint }: SizeHint,
  ): Promise<number> {
    const key = objectKey(id);
    const origin = randomUUID();
    const buffered = partBuffer(partSize(sizeHint));
    const parts = partsUpload(bucket, { key, origin });
    let sizeBytes = 0;
    try {
      for await (const chunk of source) {
        sizeBytes += chunk.length;
        for (const part of buffered.add(chunk)) await parts.send(part);
      }
      await failpoint('files.write.inside');
      const rest = buffered.rest();
      const upload = parts.upload();
      if (upload !== undefined && rest.length > 0) await parts.send(rest);
      const arrived = await parts.arrived();
      await failpoint('files.sync.after');
      await createdOnce(bucket, { key, origin, sizeBytes }, () =>
        upload === undefined
          ? bucket.put(key, rest, { origin }, { isNew: true })
          : bucket.completeUpload(upload, arrived),
      );
      await failpoint('files.rename.after');
      return sizeBytes;
    } catch (error) {
      await discard(key, origin, parts);
      throw error;
    }
  }

  async function discard(key: string, origin: string, parts: PartsUpload): Promise<void> {
    try {
      await parts.ended();
      const upload = parts.upload();
      if (upload !== undefined) await bucket.abortUpload(upload);
      const found = await bucket.find(key);
      if (found?.metadata['origin'] === origin) await bucket.remove(key);
    } catch (err) {
      // The error of the write is the important one; the collection removes the rest.
      logger.warn({ err, key }, 'bytes of a failed write left');
    }
  }

  async function open(id: string): Promise<OpenBlob> {
    const key = objectKey(id);
    const found = await bucket.find(key);
    if (found === undefined) throw new MissingObject(id);
    const { sizeBytes } = found;
    return {
      sizeBytes,
      stream: (range) => (sizeBytes === 0 ? Readable.from([]) : streamed(bucket, key, range)),
      slice: async ({ start, end }) => {
        if (start >= sizeBytes || end < start) return Buffer.alloc(0);
        const { body } = await bucket.read(key, { range: { start, end } });
        return buffer(body);
      },
      close: async () => {},
    };
  }

  async function readStoreId(): Promise<string | undefined> {
    try {
      return (await text((await bucket.read(STORE_ID)).body)).trim();
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  async function* list(): AsyncGenerator<ListedBlob> {
    for await (const { key, sizeBytes, modifiedAt } of bucket.list(OBJECTS)) {
      const id = objectOfKey(key);
      if (id !== undefined) yield { id, sizeBytes, storedAt: modifiedAt };
    }
  }

  async function* listUnfinished(before: Date): AsyncGenerator<UnfinishedWrite> {
    for await (const upload of bucket.listUploads()) {
      const id = objectOfKey(upload.key);
      if (id === undefined || upload.startedAt >= before) continue;
      const parts = await partsOf(upload);
      if (parts === undefined || parts.storedAt >= before) continue;
      if (await incomplete.isUploadOf(id, upload.uploadId)) continue;
      yield { id, ...parts, remove: () => bucket.abortUpload(upload) };
    }
  }

  /** Undefined when the upload has ended since it was listed. */
  async function partsOf(upload: ListedUpload): Promise<Omit<ListedBlob, 'id'> | undefined> {
    let sizeBytes = 0;
    let storedAt = upload.startedAt;
    try {
      for await (const part of bucket.listParts(upload)) {
        sizeBytes += part.sizeBytes;
        if (part.modifiedAt > storedAt) storedAt = part.modifiedAt;
      }
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
    return { sizeBytes, storedAt };
  }

  return {
    write,
    append: incomplete.append,
    complete: incomplete.complete,
    removeIncomplete: incomplete.remove,
    listIncomplete: incomplete.list,
    open,
    remove: async (id) => bucket.remove(objectKey(id)),
    list,
    listUnfinished,
    storeIdPath: `the object ${STORE_ID} of the bucket`,
    readStoreId,
    writeStoreId: (id) => bucket.put(STORE_ID, Buffer.from(`${id}\n`), {}),
    check: bucket.check,
  };
}

/**
 * Requests the bytes when the first one is read. A reader that stops cancels the request, even while the
 * store is silent.
 */
function streamed(bucket: S3Bucket, key: string, range: ByteRange | undefined): Readable {
  const aborting = new AbortController();
  async function* received() {
    const { body } = await bucket.read(key, { range, signal: aborting.signal });
    yield* body;
  }
  const bytes: AsyncGenerator<Uint8Array> = received();
  return new Readable({
    read() {
      bytes.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      aborting.abort();
      bytes.return(undefined).then(
        () => done(error),
        () => done(error),
      );
    },
  });
}
