import { createHash } from 'node:crypto';
import { ServiceError } from '@kr/service-error';
import type { BlobStore } from '../blob/blob-store.ts';
import { type PromiseUploadDeps, reserveMore } from '../quota/promise-upload.ts';
import type { Database } from '../store/prisma.ts';
import type { RunningHashes } from './running-hashes.ts';
import type { Upload } from './upload.ts';
import type { UploadChecksum } from './upload-checksum.ts';
import { checksumMismatch, noSuchUpload, uploadInUse, uploadTooLarge } from './upload-errors.ts';
import type { UploadLease } from './upload-lease.ts';
import { findUpload, saveReceived } from './upload-store.ts';

export interface ReceiveBytesDeps extends PromiseUploadDeps {
  database: Database;
  blobs: BlobStore;
  hashes: RunningHashes;
  maxFileBytes: number;
  uploadExpiryMs: number;
}

/** How much a crash may cost of one long request, in bytes. */
const SAVE_EVERY_BYTES = 16_777_216;

/**
 * Adds the body of one request to an upload. What has come is kept when the body breaks off; with a checksum it is all
 * or nothing. Gives the upload as it is then.
 *
 * @throws ServiceError
 *   - `too_large` (`upload_too_large`)
 *   - `insufficient_storage`
 *   - `conflict` (`upload_in_use`): another request has taken it over
 *   - `not_found`: it is gone
 * @throws HttpRefusal 460: not what the checksum says
 * @throws what the body threw
 */
export async function receiveBytes(
  deps: ReceiveBytesDeps,
  upload: Upload,
  {
    body,
    checksum,
    lease,
  }: { body: AsyncIterable<Uint8Array>; checksum: UploadChecksum | undefined; lease: UploadLease },
): Promise<Upload> {
  const { id, receivedBytes: from } = upload;
  const check = checksum && createHash(checksum.algorithm);
  const maxBytes = upload.lengthBytes ?? deps.maxFileBytes;
  let reserved = upload.lengthBytes ?? from;
  const hash = deps.hashes.after(upload);
  async function* counted() {
    let total = from;
    for await (const chunk of body) {
      total += chunk.length;
      if (total > maxBytes) throw uploadTooLarge(maxBytes);
      if (total > reserved) reserved = await reserveMore(deps, upload, total);
      const hashed = hash.update(chunk);
      check?.update(chunk);
      yield chunk;
      await hashed;
    }
  }
  const save = async (receivedBytes: number, { endsLease }: { endsLease: boolean }): Promise<Upload> => {
    const expiresAt = new Date(deps.now().getTime() + deps.uploadExpiryMs);
    const row = { id, leaseHolder: lease.holder, receivedBytes, expiresAt, endsLease };
    if (await saveReceived(deps.database, row)) return { ...upload, receivedBytes, expiresAt };
    throw (await findUpload(deps.database, id)) === undefined ? noSuchUpload() : uploadInUse();
  };

  let isKept = false;
  try {
    const { totalBytes, brokenBy } = await deps.blobs.append(id, counted(), {
      maxBytes,
      from,
      durableEvery: checksum === undefined ? SAVE_EVERY_BYTES : Number.POSITIVE_INFINITY,
      onDurable: async (bytes) => void (await save(bytes, { endsLease: false })),
      beforeWrite: lease.assertHeld,
    });
    const isRefused = brokenBy instanceof ServiceError;
    if (isRefused || (brokenBy !== undefined && checksum !== undefined)) throw brokenBy;
    if (checksum !== undefined && check?.digest().equals(checksum.digest) === false) throw checksumMismatch();
    // Who makes the bytes the content of the entry holds it on.
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
