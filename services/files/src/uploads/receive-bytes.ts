import { createHash } from 'node:crypto';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import type { BlobStore } from '../blob/blob-store.ts';
import type { ContentHash, Digests, NewContentHash } from '../blob/content-hash.ts';
import { Prisma } from '../gen/prisma/client.ts';
import type { BodyReader } from '../http/body.ts';
import { type ReserveForUploadDeps, reserveMore } from '../quota/reserve-for-upload.ts';
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

/**
 * The hash of an upload's received bytes; lost if this process has not received all of them, or its thread
 * has ended.
 */
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

/** The running digests of uploads, kept between requests of the same process. */
export interface RunningHashes {
  /** A copy of the hash of an upload's received bytes. */
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

export interface ReceiveBytesDeps extends ReserveForUploadDeps {
  database: Database;
  blobs: BlobStore;
  hashes: RunningHashes;
  maxFileBytes: number;
  uploadExpiryMs: number;
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
  const hash = deps.hashes.after(upload);
  const bytes = body({
    admit: async (bodyBytes) => {
      const totalBytes = from + bodyBytes;
      if (totalBytes > maxBytes) throw uploadTooLarge(maxBytes);
      if (totalBytes > reserved) reserved = await reserveMore(deps, upload, totalBytes);
    },
    hash: {
      update: (chunk) => {
        check?.update(chunk);
        return hash.update(chunk);
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
    deps.hashes.keep(id, totalBytes, hash);
    isKept = true;
    if (brokenBy !== undefined) throw brokenBy;
    return grown;
  } finally {
    if (!isKept) hash.drop();
  }
}

export interface FinishUploadDeps extends AttachContentDeps {
  hashes: RunningHashes;
  newHash: NewContentHash;
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
  { blobs, hashes, newHash }: Pick<FinishUploadDeps, 'blobs' | 'hashes' | 'newHash'>,
  upload: Upload,
): Promise<Digests> {
  const seen = hashes.after(upload);
  const digests = await seen.digests().finally(seen.drop);
  if (digests !== undefined) return digests;
  const hash = newHash(upload.receivedBytes);
  try {
    const blob = await blobs.open(upload.id);
    for await (const chunk of blob.stream()) await hash.update(chunk);
    return await hash.digests();
  } finally {
    hash.drop();
  }
}
