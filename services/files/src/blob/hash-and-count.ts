import { fileTooLarge } from '../file-errors.ts';
import type { StoredBytes } from './blob-store.ts';
import type { NewContentHash } from './content-hash.ts';

export interface MeasuredBytes {
  /**
   * Yields the chunks of the source, each hashed while it is stored. @throws ServiceError `too_large`: more
   * than allowed
   */
  bytes: AsyncIterable<Uint8Array>;
  /** The totals, after the last chunk. */
  measured(): Promise<StoredBytes>;
  /** Ends it, whether all has passed or not. */
  drop(): void;
}

/** Counts and hashes bytes on their way into a store. */
export function hashAndCount(
  source: AsyncIterable<Uint8Array>,
  {
    maxBytes,
    expectedBytes,
    newHash,
  }: { maxBytes: number; expectedBytes?: number | undefined; newHash: NewContentHash },
): MeasuredBytes {
  const hash = newHash(expectedBytes);
  let sizeBytes = 0;
  async function* pass() {
    for await (const chunk of source) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw fileTooLarge(maxBytes);
      const hashed = hash.update(chunk);
      // The error is thrown below, when the chunk is stored.
      hashed.catch(() => {});
      yield chunk;
      await hashed;
    }
  }
  return {
    bytes: pass(),
    measured: async () => ({ sizeBytes, ...(await hash.digests()) }),
    drop: hash.drop,
  };
}
