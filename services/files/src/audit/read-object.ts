import { createHash } from 'node:crypto';
import { isTransient } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { BlobStore } from '../blob/blob-store.ts';
import { MissingObject } from '../blob/store-errors.ts';
import type { Damage, StoredObject } from './audit-store.ts';
import type { Pace } from './pace.ts';

export interface ReadObjectDeps {
  blobs: BlobStore;
  logger: Logger;
}

/** Opening costs a store something too, however small an object is. */
const LEAST_BYTES = 16_384;

/**
 * Reads an object once more, chunk by chunk; null when it is as it was stored.
 *
 * @throws what the store fails with as a whole, which says nothing of the object
 */
export async function readObject(
  { blobs, logger }: ReadObjectDeps,
  object: StoredObject,
  pace: Pace,
  signal: AbortSignal,
): Promise<Damage | null> {
  try {
    await pace(LEAST_BYTES, signal);
    return (await isAsStored(blobs, object, pace, signal)) ? null : 'different';
  } catch (error) {
    if (signal.aborted || isTransient(error) || isOfThisProcess(error)) throw error;
    await blobs.check();
    if (error instanceof MissingObject) return 'missing';
    logger.error({ err: error, objectId: object.id }, 'a stored object cannot be read');
    return 'unreadable';
  }
}

/** By its sha256 where that is known, which nobody can forge; else by its md5. */
async function isAsStored(
  blobs: BlobStore,
  { id, sizeBytes, md5, sha256 }: StoredObject,
  pace: Pace,
  signal: AbortSignal,
): Promise<boolean> {
  const blob = await blobs.open(id);
  if (blob.sizeBytes !== sizeBytes) {
    await blob.close();
    return false;
  }
  const hash = createHash(sha256 === null ? 'md5' : 'sha256');
  for await (const chunk of blob.stream()) {
    hash.update(chunk);
    await pace(chunk.length, signal);
    signal.throwIfAborted();
  }
  return hash.digest('hex') === (sha256 ?? md5);
}

/** The process, or the machine, has no more of what reading takes: that says nothing of an object. */
function isOfThisProcess(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'].includes(String(code));
}
