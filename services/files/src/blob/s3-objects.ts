import { isUuid, storeAway, uuid } from './blob-store.ts';
import { type FoundObject, type OpenUpload, type S3Bucket, type SentPart, statusOf } from './s3-bucket.ts';

export const OBJECTS = 'objects/';

export function objectKey(id: string): string {
  return OBJECTS + uuid(id);
}

/** Undefined if the key has another form. */
export function objectOfKey(key: string): string | undefined {
  const id = key.slice(OBJECTS.length);
  return key.startsWith(OBJECTS) && isUuid(id) ? id : undefined;
}

/**
 * S3's limits for the parts of an object (Amazon S3 User Guide, multipart upload limits): at least 5 MiB
 * each, and at most 10,000.
 */
const MIN_PART_BYTES = 8_388_608;
const MAX_PARTS = 9_000;

/** Bytes of each part, but the last, of an object of at most that many bytes. */
export function partSize(objectBytes: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(objectBytes / MAX_PARTS));
}

/** Bytes that are collected into parts of one size. */
export interface PartBuffer {
  /** Copies the bytes and returns the parts that they complete. */
  add(chunk: Uint8Array): Generator<Buffer>;
  /** The remaining bytes, less than a part; valid until the next bytes are added. */
  rest(): Buffer;
}

/** @param first the first bytes, less than `partBytes` */
export function partBuffer(partBytes: number, first: Uint8Array = Buffer.alloc(0)): PartBuffer {
  // Memory that is never written to costs nothing.
  let part = Buffer.allocUnsafeSlow(partBytes);
  let bytes = first.length;
  part.set(first);
  return {
    *add(chunk) {
      for (let taken = 0; taken < chunk.length; ) {
        const next = chunk.subarray(taken, taken + partBytes - bytes);
        // `set` goes word by word where memory is shared.
        part.fill(next, bytes, bytes + next.length);
        taken += next.length;
        bytes += next.length;
        if (bytes < partBytes) return;
        yield part;
        part = Buffer.allocUnsafeSlow(partBytes);
        bytes = 0;
      }
    },
    rest: () => part.subarray(0, bytes),
  };
}

const MAX_IN_FLIGHT = 4;

export interface PartsOptions {
  key: string;
  /** Distinguishes the object from another one with the same key. */
  origin: string;
  /** The upload to continue; without it one is started for the first part. */
  uploadId?: string | undefined;
  /** How many parts the upload has already. */
  before?: number;
}

/** Parts of one multipart upload on their way to the store, a few at a time. */
export interface PartsUpload {
  /** The upload, if any part was sent. */
  upload(): OpenUpload | undefined;
  /** Waits for a free place, not for the part. @throws the error of an earlier part */
  send(body: Buffer): Promise<void>;
  /** All parts sent since the last call, in order, once they have arrived. @throws the error of a refused one */
  arrived(): Promise<SentPart[]>;
  /**
   * Waits for parts in flight and ignores their errors: an abort that overtook a part would leave it in the
   * store.
   */
  ended(): Promise<void>;
}

export function partsUpload(
  bucket: S3Bucket,
  { key, origin, uploadId, before = 0 }: PartsOptions,
): PartsUpload {
  const inFlight = new Set<Promise<unknown>>();
  let sent: Promise<SentPart>[] = [];
  let latest = before;
  let upload: OpenUpload | undefined;

  return {
    upload: () => upload,
    send: async (body) => {
      upload ??= uploadId === undefined ? await bucket.startUpload(key, { origin }) : { key, uploadId };
      while (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight);
      latest += 1;
      const part = bucket.sendPart(upload, latest, body);
      sent.push(part);
      inFlight.add(part);
      part.then(
        () => inFlight.delete(part),
        // It stays, so that all waiting calls get the error.
        () => {},
      );
    },
    arrived: async () => {
      const parts = await Promise.all(sent);
      sent = [];
      return parts;
    },
    ended: async () => void (await Promise.allSettled(inFlight)),
  };
}

export interface NewObject {
  key: string;
  sizeBytes: number;
  origin: string;
}

const MAX_CONFLICTS = 5;

/**
 * Creates an object that must not exist yet. After a lost answer the next try is refused, because the object
 * exists (412) or its parts were completed (404): then the object itself is compared.
 * @throws Error when another object has the key, or this one has another size
 */
export async function createdOnce(
  bucket: S3Bucket,
  { key, sizeBytes, origin }: NewObject,
  create: () => Promise<void>,
): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await create();
    } catch (error) {
      const status = statusOf(error);
      if (status === 409 && tried < MAX_CONFLICTS) continue;
      if (status === 409) throw storeAway(error);
      if (status !== 412 && status !== 404) throw error;
      const found = await bucket.find(key);
      if (found?.metadata['origin'] === origin && found.sizeBytes === sizeBytes) return;
      const message = `${key} has not become an object of ${sizeBytes} bytes: ${describe(found, origin)}`;
      throw new Error(message, { cause: error });
    }
  }
}

function describe(found: FoundObject | undefined, origin: string): string {
  if (found === undefined) return 'there is none';
  return found.metadata['origin'] === origin ? `it has ${found.sizeBytes}` : 'there is another one';
}
