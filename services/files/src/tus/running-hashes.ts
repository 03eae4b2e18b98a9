import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import type { ContentHash, Digests, NewContentHash } from '../blob/content-hash.ts';
import type { Upload } from './upload.ts';

/** The hash of what has come of an upload; lost where this process has not seen it all, or its thread has ended. */
export interface RunningHash {
  /** Resolves when the bytes may change. They count in the order of the calls. */
  update(bytes: Uint8Array): Promise<void>;
  /** One that goes on from here by itself. */
  copy(): RunningHash;
  isLost(): boolean;
  /** Undefined where it is lost. */
  digests(): Promise<Digests | undefined>;
  drop(): void;
}

/** The digests of uploads as far as they have come, kept from one request to the next of the same process. */
export interface RunningHashes {
  /** A copy of the hash of what has come of an upload. */
  after(upload: Pick<Upload, 'id' | 'receivedBytes' | 'lengthBytes'>): RunningHash;
  keep(id: string, receivedBytes: number, hash: RunningHash): void;
  forget(id: string): void;
}

const MOST = 1_000;

/** Of the latest uploads; the bytes of others are read once more when they are complete. */
export function runningHashes(newHash: NewContentHash, logger: Logger): RunningHashes {
  const known = new LRUCache<string, { hash: RunningHash; receivedBytes: number }>({
    max: MOST,
    dispose: ({ hash }) => hash.drop(),
  });
  return {
    after: ({ id, receivedBytes, lengthBytes }) => {
      const onLost = (err: unknown) =>
        logger.warn(
          { err, upload: id },
          'the hash of an upload is lost, its bytes are read once more at its end',
        );
      if (receivedBytes === 0) return runningHash(newHash(lengthBytes ?? undefined), onLost);
      const found = known.get(id);
      return found?.receivedBytes === receivedBytes ? found.hash.copy() : runningHash(undefined, onLost);
    },
    keep: (id, receivedBytes, hash) => {
      if (hash.isLost()) known.delete(id);
      else known.set(id, { hash, receivedBytes });
    },
    forget: (id) => {
      known.delete(id);
    },
  };
}

function runningHash(begun: ContentHash | undefined, onLost: (err: unknown) => void): RunningHash {
  let hash = begun;
  const unlessLost = async <Answer>(
    ask: (of: ContentHash) => Promise<Answer>,
  ): Promise<Answer | undefined> => {
    const asked = hash;
    if (asked === undefined) return undefined;
    try {
      return await ask(asked);
    } catch (err) {
      asked.drop();
      if (hash !== undefined) onLost(err);
      hash = undefined;
      return undefined;
    }
  };
  return {
    update: async (bytes) => {
      await unlessLost((of) => of.update(bytes));
    },
    copy: () => runningHash(hash?.copy(), onLost),
    isLost: () => hash === undefined,
    digests: () => unlessLost((of) => of.digests()),
    drop: () => hash?.drop(),
  };
}
