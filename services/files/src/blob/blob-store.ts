import type { Readable } from 'node:stream';
import { ServiceError } from '@kr/service-error';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(name: string): boolean {
  return UUID.test(name);
}

/** The name itself. @throws Error when it is no UUID, so that no name leads out of where objects are */
export function uuid(name: string): string {
  if (!isUuid(name)) throw new Error('an object is named by a UUID');
  return name;
}

/** The object's bytes are missing. */
export class MissingObject extends Error {
  override readonly name = 'MissingObject';

  constructor(id: string, options?: ErrorOptions) {
    super(`there is no object ${id}`, options);
  }
}

export function storeFull(cause: unknown): ServiceError {
  return new ServiceError('insufficient_storage', 'There is not enough space to store the file.', { cause });
}

/** @param cause why the store is unavailable */
export function storeAway(cause: unknown): ServiceError {
  return new ServiceError('unavailable', 'The storage of files cannot be reached.', {
    retryAfterMs: 1_000,
    cause,
  });
}

/**
 * Stores the chunks of a source one after another. `sourceError` is the error of the source, if it failed.
 * @throws the error of `store`
 */
export async function storeChunks(
  source: AsyncIterable<Uint8Array>,
  store: (chunk: Uint8Array) => Promise<void>,
): Promise<{ sourceError?: unknown }> {
  let isStoring = false;
  try {
    for await (const chunk of source) {
      isStoring = true;
      await store(chunk);
      isStoring = false;
    }
    return {};
  } catch (error) {
    if (isStoring) throw error;
    return { sourceError: error };
  }
}

/** First and last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A stored object opened for reading; its opener streams it once or closes it. */
export interface OpenBlob {
  sizeBytes: number;
  /** The bytes, or a part of them; ends the use of this object. */
  stream(range?: ByteRange): Readable;
  /** Reads a part into memory; shorter than requested at the end of the object. */
  slice(range: ByteRange): Promise<Buffer>;
  close(): Promise<void>;
}

export interface ListedBlob {
  id: string;
  sizeBytes: number;
  storedAt: Date;
}

/** The remains of a write that failed or is still running. */
export interface UnfinishedWrite extends ListedBlob {
  /** A missing object counts as removed. */
  remove(): Promise<void>;
}

export interface SizeHint {
  /** Upper bound of the size of the object in bytes, to choose part sizes. Not enforced: the caller limits the source. */
  sizeHint: number;
}

/** Options for appending to an incomplete object. Its `sizeHint` never changes. */
export interface AppendOptions extends SizeHint {
  /** Offset of the first appended byte; the object is truncated to it. */
  from: number;
  /** The number of bytes after which received ones are made durable. */
  durableEvery: number;
  /** Called, while more bytes arrive, with the number that would survive a power cut. */
  onDurable(totalBytes: number): Promise<void>;
  /** Called before each write; when it throws, nothing more is written. */
  beforeWrite(): void;
}

export interface Appended {
  /** Bytes of the whole that would survive a power cut. */
  totalBytes: number;
  /** The error of the source, if it failed. */
  sourceError: unknown;
}

/** A store of bytes. Objects are named by UUIDs, written once and never changed. */
export interface BlobStore {
  /**
   * Stores the bytes of the source with the memory of a few chunks. When it resolves the object survives a
   * power cut; when it rejects nothing is left. A chunk is not used any more when the next is requested, here and below.
   * Returns the number of bytes.
   * @throws ServiceError `insufficient_storage`: the store is full
   * @throws the error of the source
   */
  write(id: string, source: AsyncIterable<Uint8Array>, options: SizeHint): Promise<number>;
  /**
   * Appends to an incomplete object, which is created with its first bytes; one writer at a time. If the source fails, the
   * received bytes stay.
   * @throws ServiceError `insufficient_storage`: the store is full; bytes reported as durable stay
   * @throws Error when there are fewer bytes than declared
   */
  append(id: string, source: AsyncIterable<Uint8Array>, options: AppendOptions): Promise<Appended>;
  /**
   * Turns an incomplete object into a stored one of this size, durably; may be repeated. Later bytes
   * are dropped.
   * @throws Error when there is neither, or there are fewer bytes
   */
  complete(id: string, totalBytes: number): Promise<void>;
  /** An incomplete object that is not there is removed already. */
  removeIncomplete(id: string): Promise<void>;
  /** All incomplete objects, in no order, with the time of the last write. */
  listIncomplete(): AsyncIterable<ListedBlob>;
  /** @throws MissingObject */
  open(id: string): Promise<OpenBlob>;
  /** Where an object lies below the folder of the store; only where objects are files. */
  pathOf?(id: string): string;
  /** An object that is not there is removed already. */
  remove(id: string): Promise<void>;
  /** All objects, in no order. */
  list(): AsyncIterable<ListedBlob>;
  /** Writes of objects at once that were last active before the instant and have not ended, in no order. */
  listUnfinished(before: Date): AsyncIterable<UnfinishedWrite>;
  /** Where the store has its id, for operators. */
  storeIdPath: string;
  /** The id of the store; undefined if it has none. */
  readStoreId(): Promise<string | undefined>;
  /** Writes the id of the store durably, in place of an existing one. */
  writeStoreId(id: string): Promise<void>;
  /** @throws Error when the store must not be written to */
  check(): Promise<void>;
}
