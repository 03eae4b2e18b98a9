import type { Readable } from 'node:stream';

/** What was counted and hashed while bytes were stored. */
export interface StoredBytes {
  sizeBytes: number;
  /** 32 hexadecimal digits. */
  md5: string;
}

/** First and last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A stored object that is open for reading; whoever opened it streams it once or closes it. */
export interface OpenBlob {
  sizeBytes: number;
  /** The bytes, or a part of them; ends the use of this object. */
  stream(range?: ByteRange): Readable;
  /** Reads a part into memory; shorter than asked for at the end of the object. */
  slice(range: ByteRange): Promise<Buffer>;
  close(): Promise<void>;
}

export interface ListedBlob {
  id: string;
  storedAt: Date;
}

/** Where bytes are kept. Objects are named by UUIDs, written once and never changed. */
export interface BlobStore {
  /**
   * Stores what comes, taking no more memory than a few chunks. When it resolves the object survives a power cut; when
   * it rejects nothing of it is left.
   *
   * @throws ServiceError
   *   - `invalid`: more than `maxBytes`
   *   - `insufficient_storage`: the store is full
   * @throws what the source threw
   */
  write(id: string, source: AsyncIterable<Uint8Array>, options: { maxBytes: number }): Promise<StoredBytes>;
  /** @throws Error when there is no such object */
  open(id: string): Promise<OpenBlob>;
  /** An object that is not there is removed already. */
  remove(id: string): Promise<void>;
  /** All objects, in no order. */
  list(): AsyncIterable<ListedBlob>;
  /** Removes what was left by writes that did not end and were last active before the instant; says how many. */
  removeUnfinished(before: Date): Promise<number>;
  /** @throws Error when the store must not be written to */
  check(): Promise<void>;
}
