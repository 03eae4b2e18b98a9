import { executeWithNext } from '@kr/database';
import { type ChangeBucketDeps, changeBucket, checkPending } from '../buckets/change-bucket.ts';
import { reserveForUpload } from '../quota/reserve-bytes.ts';
import { lockEntry } from '../store/entry-store.ts';
import type { ReceiveBytesDeps } from './receive-bytes.ts';
import { type Upload, uploadInUse } from './upload.ts';
import { heldLease, LEASE_MS, type LeaseDeps, type UploadLease } from './upload-lease.ts';
import { deleteUpload, replaceUpload, saveLength } from './upload-store.ts';

export interface BeginUploadDeps extends ReceiveBytesDeps, LeaseDeps, ChangeBucketDeps {}

/** An upload and the lease that allows this request to change it. */
export interface HeldUpload {
  upload: Upload;
  lease: UploadLease;
}

/**
 * Begins an upload in place of the one that the entry had. It is leased from its first moment.
 * @throws ServiceError - `too_large` as `grantedBytes` does - the errors of `checkPending`
 */
export async function beginUpload(
  deps: BeginUploadDeps,
  begun: Pick<Upload, 'id' | 'entityId' | 'key' | 'ownerId' | 'lengthBytes' | 'metadata'>,
): Promise<HeldUpload> {
  const { blobs, hashes, now, newId, uploadExpiryMs } = deps;
  const createdAt = now();
  const expiresAt = new Date(createdAt.getTime() + uploadExpiryMs);
  const upload: Upload = { ...begun, receivedBytes: 0, expiresAt, isFinished: false };
  const [holder, since] = [newId(), performance.now()];
  const replaced = await reserveForUpload(deps, upload, async (tx) => {
    await lockEntry(tx, upload.entityId, upload.key);
    await checkPending(tx, upload);
    return replaceUpload(tx, { ...upload, createdAt, leaseHolder: holder, leaseMs: LEASE_MS });
  });
  const lease = heldLease(deps, { id: upload.id, holder, since });
  if (replaced !== undefined) {
    hashes.forget(replaced);
    await blobs.removeIncomplete(replaced);
  }
  return { upload, lease };
}

/** @throws ServiceError - `too_large` as `grantedBytes` does - `conflict` (`upload_in_use`): the lease is lost */
export async function declareLength(
  deps: BeginUploadDeps,
  { upload, lease }: HeldUpload,
  lengthBytes: number,
): Promise<Upload> {
  const declared = { ...upload, lengthBytes };
  const isSaved = await reserveForUpload(deps, declared, (tx) =>
    saveLength(tx, { id: upload.id, leaseHolder: lease.holder, lengthBytes }),
  );
  if (!isSaved) throw uploadInUse();
  return declared;
}

const DETACH = `
  update entry set object_id = null, version_id = null, mimetype = null
  where entity_id = $1 and key = $2 and object_id = $3::uuid`;

/**
 * Deletes an upload and its bytes. The bytes of a finished one are removed from its entry.
 * @throws ServiceError the errors of `changeBucket` and, if the entry is committed, `checkPending`
 */
export async function terminateUpload(deps: BeginUploadDeps, { upload, lease }: HeldUpload): Promise<void> {
  const { database, blobs, hashes } = deps;
  const { id, entityId, key } = upload;
  const detach = () =>
    changeBucket(deps, entityId, async (tx) => {
      await checkPending(tx, upload);
      await executeWithNext(tx, DETACH, entityId, key, id);
      await deleteUpload(tx, id);
    });
  // The lease ends with the upload: its loss is no error.
  await lease.endBy(() => (upload.isFinished ? detach() : deleteUpload(database, id)));
  await blobs.removeIncomplete(id);
  hashes.forget(id);
}
