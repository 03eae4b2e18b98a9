import { LRUCache } from 'lru-cache';
import type { ContentHash, NewContentHash } from '../blob/content-hash.ts';
import type { Upload } from './upload.ts';

/** The digests of received bytes, stored between requests of the same process. */
export interface RunningHashes {
  /** A copy of the hash after the received bytes; undefined if this process has not received all of them. */
  after(upload: Pick<Upload, 'id' | 'receivedBytes' | 'lengthBytes'>): ContentHash | undefined;
  store(id: string, receivedBytes: number, hash: ContentHash): void;
  forget(id: string): void;
}

const MAX_HASHES = 1_000;

/** Of the latest uploads; the bytes of others are read once more when they are complete. */
export function runningHashes(newHash: NewContentHash): RunningHashes {
  const hashes = new LRUCache<string, { hash: ContentHash; receivedBytes: number }>({
    max: MAX_HASHES,
    dispose: ({ hash }) => hash.drop(),
  });
  return {
    after: ({ id, receivedBytes, lengthBytes }) => {
      if (receivedBytes === 0) return newHash(lengthBytes ?? undefined);
      const found = hashes.get(id);
      return found?.receivedBytes === receivedBytes ? found.hash.copy() : undefined;
    },
    store: (id, receivedBytes, hash) => {
      hash.pause();
      hashes.set(id, { hash, receivedBytes });
    },
    forget: (id) => void hashes.delete(id),
  };
}
