import { fileTooLarge } from '../file-errors.ts';
import type { StoredBytes } from './blob-store.ts';
import type { NewContentHash } from './content-hash.ts';

export interface MeasuredBytes {
  /** What comes, chunk by chunk. @throws ServiceError `too_large`: more than allowed */
  bytes: AsyncIterable<Uint8Array>;
  /** What has passed, once all has. */
  measured(): StoredBytes;
}

/** Counts and hashes bytes on their way into a store. */
export function measuredBytes(
  source: AsyncIterable<Uint8Array>,
  { maxBytes, newHash }: { maxBytes: number; newHash: NewContentHash },
): MeasuredBytes {
  const hash = newHash();
  let sizeBytes = 0;
  async function* pass() {
    for await (const chunk of source) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw fileTooLarge(maxBytes);
      hash.update(chunk);
      yield chunk;
    }
  }
  return { bytes: pass(), measured: () => ({ sizeBytes, ...hash.digests() }) };
}
