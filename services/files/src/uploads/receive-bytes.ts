import { createHash } from 'node:crypto';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { FilesContext } from '../context.ts';
import type { BodyReader } from '../http/body.ts';
import { HttpRefusal } from '../http/errors.ts';
import { reserveMore } from '../quota/reserve-bytes.ts';
import { attachContent, attachStatement } from './attach-content.ts';
import { EXPIRY_MS, noSuchUpload, type Upload, uploadExists, uploadInUse, uploadTooLarge } from './upload.ts';
import type { LeasedUpload } from './upload-lease.ts';

/** How much a crash may cost of one long request, in bytes. */
const SAVE_EVERY_BYTES = 16_777_216;

/** The digest that a client sends for the bytes of one request. */
export interface UploadChecksum {
  algorithm: 'sha256' | 'sha1' | 'md5';
  digest: Buffer;
}

export interface ReceivedRequest {
  body: (reader: BodyReader) => AsyncIterable<Uint8Array>;
  checksum: UploadChecksum | undefined;
}

/** `$5` whether the lease ends. Changes nothing if the lease is lost. */
const SAVE_RECEIVED = `
  update upload set received = $3, expires_at = $4,
    reserved = case when $5::boolean then 0 else reserved end,
    lease_holder = case when $5 then null else lease_holder end,
    lease_until = case when $5 then null else lease_until end,
    is_requested = is_requested and not $5
  where id = $1 and lease_holder = $2`;

/**
 * Appends the body of one request to an upload. Bytes received before the body is aborted are stored; with a
 * checksum it is all or nothing. A finished upload accepts no bytes. Returns the upload's new state.
 * @throws ServiceError - `too_large` (`upload_too_large`) - `insufficient_storage` - `conflict` (`upload_in_use`): another request has
 * taken it over - `not_found`: it does not exist
 * @throws HttpRefusal 460: the checksum differs
 * @throws the error of the body
 */
export async function receiveBytes(
  deps: FilesContext,
  { upload, lease }: LeasedUpload,
  { body, checksum }: ReceivedRequest,
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
  const dropHash = (err: unknown) => {
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
        await hash?.update(chunk).catch(dropHash);
      },
    },
  });
  const save = async (receivedBytes: number, { endsLease }: { endsLease: boolean }): Promise<Upload> => {
    const expiresAt = new Date(deps.now().getTime() + EXPIRY_MS);
    const values = [id, lease.holder, receivedBytes, expiresAt, endsLease];
    if ((await deps.database.$executeRawUnsafe(SAVE_RECEIVED, ...values)) === 1)
      return { ...upload, receivedBytes, expiresAt };
    throw (await uploadExists(deps.database, id)) ? uploadInUse() : noSuchUpload();
  };

  let isSaved = false;
  try {
    const { totalBytes, sourceError } = await deps.blobs.append(id, bytes, {
      sizeHint: maxBytes,
      from,
      durableEvery: checksum === undefined ? SAVE_EVERY_BYTES : Number.POSITIVE_INFINITY,
      onDurable: async (bytes) => void (await save(bytes, { endsLease: false })),
      beforeWrite: lease.assertValid,
    });
    const isRefused = sourceError instanceof ServiceError;
    if (isRefused || (sourceError !== undefined && checksum !== undefined)) throw sourceError;
    if (checksum !== undefined && check?.digest().equals(checksum.digest) === false)
      // The status is that of the protocol (tus 1.0, checksum extension).
      throw new HttpRefusal(460, 'The bytes do not match Upload-Checksum.', { code: 'checksum_mismatch' });
    // The lease continues while the bytes become the content of the entry.
    const endsLease = totalBytes !== upload.lengthBytes;
    const saving = () => save(totalBytes, { endsLease });
    const grown = await (endsLease ? lease.endBy(saving) : saving());
    if (hash === undefined) deps.hashes.forget(id);
    else deps.hashes.store(id, totalBytes, hash);
    isSaved = true;
    if (sourceError !== undefined) throw sourceError;
    return grown;
  } finally {
    if (!isSaved) hash?.drop();
  }
}

function logLostHash(logger: Logger, upload: string, err: unknown): void {
  logger.warn({ err, upload }, 'the hash of an upload is lost, its bytes are read once more at its end');
}

const ATTACH = attachStatement(
  'upload where lease_holder = $13::uuid and received = length',
  'update upload set finished_at = $10',
);

/**
 * Makes the bytes of a complete upload the content of its entry. Safe to repeat after a crash between any two steps.
 *
 * @throws ServiceError as `attachContent` does
 */
export async function finishIfComplete(deps: FilesContext, leased: LeasedUpload): Promise<void> {
  const { upload, lease } = leased;
  const { id, receivedBytes: sizeBytes, lengthBytes, isFinished } = upload;
  if (isFinished || sizeBytes !== lengthBytes) return;
  await deps.blobs.complete(id, sizeBytes);
  const stored = { objectId: id, sizeBytes, ...(await digestsOf(deps, upload)) };
  await attachContent(deps, upload, stored, { statement: ATTACH, value: lease.holder, lost: uploadInUse });
  deps.hashes.forget(id);
  leased.upload = { ...upload, isFinished: true };
}

/** As computed on arrival, if one process has received all bytes; else they are read again. */
async function digestsOf({ blobs, hashes, newHash, logger }: FilesContext, upload: Upload) {
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
