import { isUuid, storeAway, uuid } from './blob-store.ts';
import { type FoundObject, type OpenUpload, type S3Bucket, type SentPart, statusOf } from './s3-bucket.ts';

export const OBJECTS = 'objects/';
export const MARK = 'store-id';

export function objectKey(id: string): string {
  return OBJECTS + uuid(id);
}

/** Undefined where the key is none of ours. */
export function objectOfKey(key: string): string | undefined {
  const id = key.slice(OBJECTS.length);
  return key.startsWith(OBJECTS) && isUuid(id) ? id : undefined;
}

/**
 * S3's limits for the parts of an object (Amazon S3 User Guide, multipart upload limits): at least 5 MiB
 * each, and at most 10,000.
 */
const LEAST_BYTES = 8_388_608;
const MOST_PARTS = 9_000;

/** Bytes of each part, but the last, of an object of at most that many bytes. */
export function partSize(objectBytes: number): number {
  return Math.max(LEAST_BYTES, Math.ceil(objectBytes / MOST_PARTS));
}

/** Bytes on their way into parts of one size. */
export interface GatheredParts {
  /** Copies the bytes and returns the parts that they complete. */
  add(chunk: Uint8Array): Generator<Buffer>;
  /** The remaining bytes, less than a part. */
  rest(): Buffer;
}

/** @param rest what fills no part yet, less than `partBytes` */
export function gatheredParts(partBytes: number, rest: Uint8Array = Buffer.alloc(0)): GatheredParts {
  let chunks: Uint8Array[] = [rest];
  let bytes = rest.length;
  return {
    *add(chunk) {
      let left = chunk;
      while (bytes + left.length >= partBytes) {
        const taken = left.subarray(0, partBytes - bytes);
        left = left.subarray(taken.length);
        const part = Buffer.concat([...chunks, taken]);
        chunks = [];
        bytes = 0;
        yield part;
      }
      if (left.length === 0) return;
      chunks.push(Buffer.from(left));
      bytes += left.length;
    },
    rest: () => Buffer.concat(chunks),
  };
}

/** Parts of one multipart upload on their way to the store, a few at a time. */
export interface SentParts {
  /** Waits for a free place, not for the part. @throws what an earlier part was refused with */
  send(body: Buffer): Promise<void>;
  /** All parts sent since, in order, once they have arrived. @throws the error of a refused one */
  arrived(): Promise<SentPart[]>;
  /**
   * Waits for parts in flight and ignores their errors: an abort that overtook a part would leave it in the
   * store.
   */
  ended(): Promise<void>;
}

const MOST_IN_FLIGHT = 4;

/** @param before how many parts the upload has already */
export function sentParts(bucket: S3Bucket, upload: OpenUpload, before = 0): SentParts {
  const inFlight = new Set<Promise<unknown>>();
  let sent: Promise<SentPart>[] = [];
  let latest = before;

  return {
    send: async (body) => {
      while (inFlight.size >= MOST_IN_FLIGHT) await Promise.race(inFlight);
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
    ended: async () => {
      await Promise.allSettled(inFlight);
    },
  };
}

export interface NewObject {
  key: string;
  sizeBytes: number;
  /** Distinguishes this object from another one with the same key. */
  origin: string;
}

const MOST_CONFLICTS = 5;

/**
 * Creates an object that must not exist yet, and verifies it. After a lost answer the next try is refused,
 * because the object exists (412) or its parts were completed (404): then the object itself is compared.
 * @throws Error when another object has the key, or this one has another size
 */
export async function createdOnce(
  bucket: S3Bucket,
  { key, sizeBytes, origin }: NewObject,
  create: () => Promise<void>,
): Promise<void> {
  const refusedBy = await refusalOf(create);
  const found = await bucket.find(key);
  if (found?.marks['origin'] === origin && found.sizeBytes === sizeBytes) return;
  throw new Error(`${key} has not become an object of ${sizeBytes} bytes: ${describe(found, origin)}`, {
    cause: refusedBy,
  });
}

function describe(found: FoundObject | undefined, origin: string): string {
  if (found === undefined) return 'there is none';
  return found.marks['origin'] === origin ? `it has ${found.sizeBytes}` : 'there is another one';
}

async function refusalOf(create: () => Promise<void>): Promise<unknown> {
  for (let tried = 1; ; tried += 1) {
    try {
      await create();
      return undefined;
    } catch (error) {
      const status = statusOf(error);
      if (status === 412 || status === 404) return error;
      if (status !== 409) throw error;
      if (tried === MOST_CONFLICTS) throw storeAway(error);
    }
  }
}
