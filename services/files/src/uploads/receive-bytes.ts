import { createHash } from 'node:crypto';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import type { BlobStore } from '../blob/blob-store.ts';
import type { ContentHash, Digests, NewContentHash } from '../blob/content-hash.ts';
import { Prisma } from '../gen/prisma/client.ts';
import type { BodyReader } from '../http/body.ts';
import { type ReserveDeps, reserveMore } from '../quota/reserve-bytes.ts';
import type { Database } from '../store/prisma.ts';
import { type AttachContentDeps, attachContent } from './attach-content.ts';
import {
  checksumMismatch,
  noSuchUpload,
  type Upload,
  type UploadChecksum,
  uploadInUse,
  uploadTooLarge,
} from './upload.ts';
import type { UploadLease } from './upload-lease.ts';
import { findUpload, saveReceived } from './upload-store.ts';

/** The digests of received bytes, kept between requests of the same process. */
export interface RunningHashes {
  /** A copy of the hash after the received bytes; undefined if this process has not received all of them. */
  after(upload: Pick<Upload, 'id' | 'receivedBytes' | 'lengthBytes'>): ContentHash | undefined;
  keep(id: string, receivedBytes: number, hash: ContentHash): void;
  forget(id: string): void;
}

const MOST = 1_000;

/** Of the latest uploads; the bytes of others are read once more when they are complete. */
export function runningHashes(newHash: NewContentHash): RunningHashes {
  const known = new LRUCache<string, { hash: ContentHash; receivedBytes: number }>({
    max: MOST,
    dispose: ({ hash }) => hash.drop(),
  });
  return {
    after: ({ id, receivedBytes, lengthBytes }) => {
      if (receivedBytes === 0) return newHash(lengthBytes ?? undefined);
      const found = known.get(id);
      return found?.receivedBytes === receivedBytes ? found.hash.copy() : undefined;
    },
    keep: (id, receivedBytes, hash) => {
      known.set(id, { hash, receivedBytes });
    },
    forget: (id) => {
      known.delete(id);
    },
  };
}

export interface ReceiveBytesDeps extends ReserveDeps {
  database: Database;
  blobs: BlobStore;
  hashes: RunningHashes;
  maxFileBytes: number;
  uploadExpiryMs: number;
  logger: Logger;
}

/** How much a crash may cost of one long request, in bytes. */
const SAVE_EVERY_BYTES = 16_777_216;

/** A request with bytes for an upload. */
export interface ReceivedRequest {
  body: (reader: BodyReader) => AsyncIterable<Uint8Array>;
  checksum: UploadChecksum | undefined;
  lease: UploadLease;
}

/**
 * Appends the body of one request to an upload. Received bytes are kept when the body is aborted; with a checksum it is all
 * or nothing. A finished upload takes no bytes. Returns the upload's new state.
 * @throws ServiceError - `too_large` (`upload_too_large`) - `insufficient_storage` - `conflict` (`upload_in_use`): another request has
 * taken it over - `not_found`: it does not exist
 * @throws HttpRefusal 460: the checksum differs
 * @throws the error of the body
 */
export async function receiveBytes(
  deps: ReceiveBytesDeps,
  upload: Upload,
  { body, checksum, lease }: ReceivedRequest,
): Promise<Upload> {
  const { id, receivedBytes: from } = upload;
  if (upload.isFinished) {
    const admit = async () => {
      throw uploadTooLarge(from);
    };
    for await (const _ of body({ admit, hash: { update: async () => {} } }));
    return upload;
  }
  const check = checksum && createHash(checksum.algorithm);
  const maxBytes = upload.lengthBytes ?? deps.maxFileBytes;
  let reserved = upload.lengthBytes ?? from;
  let hash = deps.hashes.after(upload);
  const loseHash = (err: unknown) => {
    if (hash !== undefined) logLostHash(deps.logger, id, err);
    hash?.drop();
    hash = undefined;
  };
  const bytes = body({
    admit: async (bodyBytes) => {
      const totalBytes = from + bodyBytes;
      if (totalBytes > maxBytes) throw uploadTooLarge(maxBytes);
      if (totalBytes > reserved) reserved = await reserveMore(deps, upload, totalBytes);
    },
    hash: {
      update: async (chunk) => {
        check?.update(chunk);
        await hash?.update(chunk).catch(loseHash);
      },
    },
  });
  const save = async (receivedBytes: number, { endsLease }: { endsLease: boolean }): Promise<Upload> => {
    const expiresAt = new Date(deps.now().getTime() + deps.uploadExpiryMs);
    const row = { id, leaseHolder: lease.holder, receivedBytes, expiresAt, endsLease };
    if (await saveReceived(deps.database, row)) return { ...upload, receivedBytes, expiresAt };
    throw (await findUpload(deps.database, id)) === undefined ? noSuchUpload() : uploadInUse();
  };

  let isKept = false;
  try {
    const { totalBytes, brokenBy } = await deps.blobs.append(id, bytes, {
      maxBytes,
      from,
      durableEvery: checksum === undefined ? SAVE_EVERY_BYTES : Number.POSITIVE_INFINITY,
      onDurable: async (bytes) => void (await save(bytes, { endsLease: false })),
      beforeWrite: lease.assertHeld,
    });
    const isRefused = brokenBy instanceof ServiceError;
    if (isRefused || (brokenBy !== undefined && checksum !== undefined)) throw brokenBy;
    if (checksum !== undefined && check?.digest().equals(checksum.digest) === false) throw checksumMismatch();
    // The lease is kept while the bytes become the content of the entry.
    const endsLease = totalBytes !== upload.lengthBytes;
    const saving = () => save(totalBytes, { endsLease });
    const grown = await (endsLease ? lease.endBy(saving) : saving());
    if (hash === undefined) deps.hashes.forget(id);
    else deps.hashes.keep(id, totalBytes, hash);
    isKept = true;
    if (brokenBy !== undefined) throw brokenBy;
    return grown;
  } finally {
    if (!isKept) hash?.drop();
  }
}

function logLostHash(logger: Logger, upload: string, err: unknown): void {
  logger.warn({ err, upload }, 'the hash of an upload is lost, its bytes are read once more at its end');
}

export interface FinishUploadDeps extends AttachContentDeps {
  hashes: RunningHashes;
  newHash: NewContentHash;
  logger: Logger;
}

/**
 * Makes the bytes of a complete upload the content of its entry. Safe to repeat after a crash between any two steps.
 *
 * @throws ServiceError as `attachContent` does
 */
export async function finishUpload(
  deps: FinishUploadDeps,
  upload: Upload,
  lease: UploadLease,
): Promise<Upload> {
  const { id, entityId, key, receivedBytes } = upload;
  await deps.blobs.complete(id, receivedBytes);
  const digests = await digestsOf(deps, upload);
  await attachContent(
    deps,
    { entityId, key },
    { objectId: id, sizeBytes: receivedBytes, ...digests },
    {
      row: Prisma.sql`upload where lease_holder = ${lease.holder}::uuid and received = length`,
      end: Prisma.sql`update upload set finished_at = ${deps.now()}`,
      lost: uploadInUse,
    },
  );
  deps.hashes.forget(id);
  return { ...upload, isFinished: true };
}

/** As computed on arrival, if one process has received all bytes; else they are read again. */
async function digestsOf(
  { blobs, hashes, newHash, logger }: FinishUploadDeps,
  upload: Upload,
): Promise<Digests> {
  const running = hashes.after(upload);
  try {
    if (running !== undefined) return await running.digests();
  } catch (err) {
    logLostHash(logger, upload.id, err);
  } finally {
    running?.drop();
  }
  const hash = newHash(upload.receivedBytes);
  try {
    const blob = await blobs.open(upload.id);
    for await (const chunk of blob.stream()) await hash.update(chunk);
    return await hash.digests();
  } finally {
    hash.drop();
  }
}
