import { failpoint } from '@kr/failpoint';
import type { ServiceError } from '@kr/service-error';
import type { BlobStore } from '../blob/blob-store.ts';
import type { Digests } from '../blob/content-hash.ts';
import {
  blockingPublication,
  type FileRef,
  findFileState,
  retryAfterPublication,
} from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';
import type { Dimensions, FileEntry } from '../file-entry.ts';
import { mimetypeOf } from '../http/media-type.ts';
import { imageDimensions, isMeasured } from './image-dimensions.ts';

/** An object in the store. */
export interface StoredBytes extends Digests {
  objectId: string;
  sizeBytes: number;
}

/** The row of a running upload. Without it the bytes may be removed, and are not attached. */
export interface UploadClaim {
  /** Made by `attachStatement`. */
  statement: string;
  /** For the condition of the statement. */
  value: Date | string;
  /** The error when it is no longer valid. */
  lost: () => ServiceError;
}

/**
 * A statement that makes stored bytes the content of a pending entry and ends the claim of their upload. It changes nothing if
 * the bucket is not open, the entry not pending or the claim not valid. Each row is locked before the next is read, in the order of
 * all changes: bucket, entry, upload or reservation, usage of the owner.
 * @param claim table of the claim and the condition under which it is valid, with `$13`
 * @param end the statement that ends it, without its condition; `$10` is the instant
 */
export function attachStatement(claim: string, end: string): string {
  return `
    with open_bucket as (
      select entity_id, id, owner_id from bucket where entity_id = $1 and state = 'open' for no key update
    ), pending_entry as (
      select entry.entity_id from entry join open_bucket on entry.entity_id = open_bucket.entity_id
      where entry.key = $2 and entry.state = 'pending' for no key update of entry
    ), claim as (
      select id from ${claim} and id = $3::uuid and exists (select from pending_entry) for update
    ), stored as (
      insert into object (id, size, md5, sha256, crc32, width, height, created_at, owner_id)
      select claim.id, $4::bigint, $5, $6, $7::bigint, $8::integer, $9::integer, $10::timestamptz, open_bucket.owner_id
      from claim cross join open_bucket
    ), ended as (
      ${end} where id in (select id from claim)
    )
    update entry set object_id = claim.id, version_id = $11::uuid, mimetype = $12
    from claim
    where entry.entity_id = $1 and entry.key = $2
    returning entry.key, entry.created_at as "createdAt", entry.updated_at as "updatedAt", entry.metadata`;
}

export type AttachedEntry = Pick<FileEntry, 'key' | 'createdAt' | 'updatedAt' | 'metadata'>;

/**
 * Makes stored bytes the content of a pending entry, in place of those it had, and ends the claim of the upload: in one statement,
 * so that it waits for the database once.
 *
 * @throws ServiceError
 *   - the errors of `blockingPublication` and `retryAfterPublication`
 *   - `lost` of the claim
 */
export async function attachContent(
  { database, blobs, finishPublications, now, newId }: FilesContext,
  { entityId, key }: FileRef,
  { objectId, sizeBytes, md5, sha256, crc32 }: StoredBytes,
  claim: UploadClaim,
): Promise<AttachedEntry> {
  const mimetype = mimetypeOf(key);
  const { width = null, height = null } = (await dimensionsOf(blobs, objectId, mimetype)) ?? {};
  const object = [objectId, sizeBytes, md5, sha256, crc32, width, height, now()];
  const values = [entityId, key, ...object, newId(), mimetype, claim.value];
  await failpoint('files.attach.before');
  const entry = await retryAfterPublication(finishPublications, async () => {
    const [attached] = await database.$queryRawUnsafe<AttachedEntry[]>(claim.statement, ...values);
    if (attached !== undefined) return { value: attached };
    // Minutes may have passed: the file may be gone, completed by another upload, or its draft published.
    const sealedBy = blockingPublication(await findFileState(database, { entityId, key }), { entityId, key });
    if (sealedBy === undefined) throw claim.lost();
    return { sealedBy };
  });
  await failpoint('files.attach.after');
  return entry;
}

async function dimensionsOf(
  blobs: BlobStore,
  objectId: string,
  mimetype: string,
): Promise<Dimensions | null> {
  if (!isMeasured(mimetype)) return null;
  const blob = await blobs.open(objectId);
  return imageDimensions(blob, mimetype).finally(blob.close);
}
