import { executeWithNext, type Sql } from '@kr/database';
import { changeBucket, checkPending } from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';
import { reserveForUpload } from '../quota/reserve-bytes.ts';
import { EXPIRY_MS, type Upload, uploadInUse } from './upload.ts';
import { LEASE_MS, type LeasedUpload, startLease } from './upload-lease.ts';

const INSERT = `
  insert into upload
    (id, entity_id, key, owner_id, length, metadata, created_at, expires_at, lease_holder, lease_until)
  values ($1, $2, $3, (select owner_id from bucket where entity_id = $2), $4, $5, $6, $7, $8,
    now() + interval '${LEASE_MS} milliseconds')`;

export interface NewUpload extends Omit<Upload, 'ownerId' | 'receivedBytes' | 'isFinished'> {
  createdAt: Date;
  leaseHolder: string;
}

/** Inserts an upload in place of the previous one of the entry, whose id is returned. The row of the entry is locked. */
export async function replaceUpload(
  tx: Sql,
  { id, entityId, key, lengthBytes, metadata, createdAt, expiresAt, leaseHolder }: NewUpload,
): Promise<string | undefined> {
  const [replaced] = await tx.$queryRawUnsafe<{ id: string }[]>(
    'delete from upload where entity_id = $1 and key = $2 returning id',
    entityId,
    key,
  );
  const values = [id, entityId, key, lengthBytes, metadata, createdAt, expiresAt, leaseHolder];
  await tx.$executeRawUnsafe(INSERT, ...values);
  return replaced?.id;
}

/**
 * Starts an upload, leased by this request, in place of the previous one of the entry.
 * @throws ServiceError - `too_large` as `reserveForUpload` does - the errors of `checkPending`
 */
export async function beginUpload(
  deps: FilesContext,
  requested: Pick<Upload, 'id' | 'entityId' | 'key' | 'ownerId' | 'lengthBytes' | 'metadata'>,
): Promise<LeasedUpload> {
  const { blobs, hashes, now, newId } = deps;
  const createdAt = now();
  const expiresAt = new Date(createdAt.getTime() + EXPIRY_MS);
  const upload: Upload = { ...requested, receivedBytes: 0, expiresAt, isFinished: false };
  const { id, entityId, key } = upload;
  const [holder, since] = [newId(), performance.now()];
  const replaced = await reserveForUpload(deps, upload, async (tx) => {
    await executeWithNext(
      tx,
      'select from entry where entity_id = $1 and key = $2 for update',
      entityId,
      key,
    );
    await checkPending(tx, upload);
    return replaceUpload(tx, { ...upload, createdAt, leaseHolder: holder });
  });
  const lease = startLease(deps, { id, holder, since });
  if (replaced !== undefined) {
    hashes.forget(replaced);
    await blobs.removeIncomplete(replaced);
  }
  return { upload, lease };
}

const SAVE_LENGTH = 'update upload set length = $3 where id = $1 and lease_holder = $2 and length is null';

/** @throws ServiceError - `too_large` as `reserveForUpload` does - `conflict` (`upload_in_use`): the lease is lost */
export async function declareLength(
  deps: FilesContext,
  { upload, lease }: LeasedUpload,
  lengthBytes: number,
): Promise<Upload> {
  const declared = { ...upload, lengthBytes };
  const saved = await reserveForUpload(deps, declared, (tx) =>
    tx.$executeRawUnsafe(SAVE_LENGTH, upload.id, lease.holder, lengthBytes),
  );
  if (saved === 0) throw uploadInUse();
  return declared;
}

const DELETE = 'delete from upload where id = $1';
const DETACH = `
  update entry set object_id = null, version_id = null, mimetype = null
  where entity_id = $1 and key = $2 and object_id = $3`;

/**
 * Deletes an upload and its bytes. The bytes of a finished one are removed from its entry.
 * @throws ServiceError the errors of `changeBucket` and, if the entry is committed, `checkPending`
 */
export async function terminateUpload(deps: FilesContext, { upload, lease }: LeasedUpload): Promise<void> {
  const { database, blobs, hashes } = deps;
  const { id, entityId, key } = upload;
  const detach = () =>
    changeBucket(deps, entityId, async (tx) => {
      await checkPending(tx, upload);
      await executeWithNext(tx, DETACH, entityId, key, id);
      await executeWithNext(tx, DELETE, id);
    });
  // The lease ends with the upload: its loss is no error.
  await lease.endBy(async () => {
    if (upload.isFinished) await detach();
    else await database.$executeRawUnsafe(DELETE, id);
  });
  await blobs.removeIncomplete(id);
  hashes.forget(id);
}
