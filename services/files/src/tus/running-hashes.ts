import { LRUCache } from 'lru-cache';
import type { ContentHash, NewContentHash } from '../blob/content-hash.ts';

/** The digests of uploads as far as they have come, kept from one request to the next of the same process. */
export interface RunningHashes {
  /** A copy of the hash of the first bytes of an upload; undefined where this process has not seen them all. */
  after(id: string, receivedBytes: number): ContentHash | undefined;
  keep(id: string, receivedBytes: number, hash: ContentHash | undefined): void;
  forget(id: string): void;
}

const MOST = 1_000;

/** Of the latest uploads; the bytes of others are read once more when they are complete. */
export function runningHashes(newHash: NewContentHash): RunningHashes {
  const known = new LRUCache<string, { hash: ContentHash; receivedBytes: number }>({ max: MOST });
  return {
    after: (id, receivedBytes) => {
      if (receivedBytes === 0) return newHash();
      const found = known.get(id);
      return found?.receivedBytes === receivedBytes ? found.hash.copy() : undefined;
    },
    keep: (id, receivedBytes, hash) => {
      if (hash === undefined) known.delete(id);
      else known.set(id, { hash, receivedBytes });
    },
    forget: (id) => {
      known.delete(id);
    },
  };
}
