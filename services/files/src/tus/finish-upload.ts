import type { Digests, NewContentHash } from '../blob/content-hash.ts';
import { type AttachContentDeps, attachContent } from '../content/attach-content.ts';
import type { RunningHashes } from './running-hashes.ts';
import type { Upload } from './upload.ts';
import { uploadInUse } from './upload-errors.ts';
import type { UploadLease } from './upload-lease.ts';
import { saveFinished } from './upload-store.ts';

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
    async (tx) => {
      const held = { id, leaseHolder: lease.holder, finishedAt: deps.now() };
      if (!(await saveFinished(tx, held))) throw uploadInUse();
    },
  );
  deps.hashes.forget(id);
  return { ...upload, isFinished: true };
}

/** As computed while the bytes came, where one process has seen them all; else they are read once more. */
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
