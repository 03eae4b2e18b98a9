import { failpoint } from '@kr/failpoint';
import type { ServiceError } from '@kr/service-error';
import { GIF } from 'image-size/types/gif';
import type { IImage } from 'image-size/types/interface';
import { JPG } from 'image-size/types/jpg';
import { PNG } from 'image-size/types/png';
import { TIFF } from 'image-size/types/tiff';
import type { BlobStore, OpenBlob } from '../blob/blob-store.ts';
import type { Digests } from '../blob/content-hash.ts';
import { type ChangeBucketDeps, findFileState, sealOver, settlingSeals } from '../buckets/change-bucket.ts';
import type { Dimensions, FileEntry } from '../file-entry.ts';
import type { Prisma } from '../gen/prisma/client.ts';
import type { ContentPath } from '../http/content-path.ts';
import { mimetypeOf } from '../http/media-type.ts';
import type { Database } from '../store/prisma.ts';

const FORMATS: Readonly<Record<string, IImage>> = {
  'image/gif': GIF,
  'image/jpeg': JPG,
  'image/png': PNG,
  'image/tiff': TIFF,
};
/** Enough for the largest EXIF block and colour profile that usually precede a JPEG's frame header. */
const HEAD_BYTES = 262_144;
const LARGEST = 2_147_483_647;

/** Whether `imageDimensions` has anything to find in files of this type. */
function isMeasured(mimetype: string): boolean {
  return Object.hasOwn(FORMATS, mimetype);
}

/** Width and height as the first bytes of an image state them; null if they are not of this type or lie further behind. */
export async function imageDimensions(
  blob: Pick<OpenBlob, 'slice'>,
  mimetype: string,
): Promise<Dimensions | null> {
  const format = FORMATS[mimetype];
  if (format === undefined) return null;
  const head = await blob.slice({ start: 0, end: HEAD_BYTES - 1 });
  // A copy in a separate buffer: the library reads past the end of a view.
  const bytes = Uint8Array.from(head);
  try {
    if (!format.validate(bytes)) return null;
    const { width, height } = format.calculate(bytes);
    return isLength(width) && isLength(height) ? { width, height } : null;
  } catch {
    // The library throws at bytes that are no such image: the upload is a file like any other.
    return null;
  }
}

function isLength(pixels: number): boolean {
  return Number.isInteger(pixels) && pixels > 0 && pixels <= LARGEST;
}

export interface AttachContentDeps extends Pick<ChangeBucketDeps, 'settle' | 'now' | 'newId'> {
  database: Database;
  blobs: BlobStore;
}

/** An object in the store. */
export interface StoredBytes extends Digests {
  objectId: string;
  sizeBytes: number;
}

/** The row of an upload under way. Without it the bytes may be removed, and are not attached. */
export interface UploadClaim {
  /** Its table and the condition under which it is still held. */
  row: Prisma.Sql;
  /** A statement that ends it, without its condition. */
  end: Prisma.Sql;
  /** The error when it is not held any more. */
  lost: () => ServiceError;
}

interface AttachedRow {
  created_at: Date;
  updated_at: Date;
  metadata: string | null;
  bucket_id: string;
}

/**
 * Makes stored bytes the content of a pending entry, in place of those it had, and ends the claim of the upload: in one statement,
 * so that it waits for the database once.
 *
 * @throws ServiceError
 *   - the errors of `sealOver` and `settlingSeals`
 *   - `lost` of the claim
 */
export async function attachContent(
  deps: AttachContentDeps,
  path: ContentPath,
  stored: StoredBytes,
  claim: UploadClaim,
): Promise<FileEntry> {
  const { objectId, sizeBytes, md5, sha256 } = stored;
  const mimetype = mimetypeOf(path.key);
  const dimensions = await dimensionsOf(deps.blobs, objectId, mimetype);
  const content = {
    objectId,
    versionId: deps.newId(),
    sizeBytes,
    md5,
    sha256,
    mimetype,
    storedAt: deps.now(),
    dimensions,
  };
  await failpoint('files.attach.before');
  const row = await settlingSeals(deps, async () => {
    const attached = await attach(deps.database, path, { ...content, crc32: stored.crc32 }, claim);
    if (attached !== undefined) return { value: attached };
    // Minutes may have passed: the file may be gone, completed by another upload, or its draft published.
    const sealedBy = sealOver(await findFileState(deps.database, path), path);
    if (sealedBy === undefined) throw claim.lost();
    return { sealedBy };
  });
  await failpoint('files.attach.after');
  const { created_at: createdAt, updated_at: updatedAt, metadata, bucket_id: bucketId } = row;
  return { ...path, createdAt, updatedAt, isCompleted: false, metadata, content, bucketId };
}

/**
 * Undefined if the bucket is not open, the entry not pending or the claim not held; nothing is changed then. Each row is locked
 * before the next is read, in the order of all changes: bucket, entry, upload or reservation, usage of the owner.
 */
async function attach(
  database: Database,
  { entityId, key }: ContentPath,
  {
    objectId,
    versionId,
    sizeBytes,
    md5,
    sha256,
    crc32,
    mimetype,
    storedAt,
    dimensions,
  }: NonNullable<FileEntry['content']> & { crc32: number },
  claim: UploadClaim,
): Promise<AttachedRow | undefined> {
  const [attached] = await database.$queryRaw<AttachedRow[]>`
    with open_bucket as (
      select entity_id, id, owner_id from bucket where entity_id = ${entityId} and state = 'open' for no key update
    ), pending_entry as (
      select entry.entity_id from entry join open_bucket on entry.entity_id = open_bucket.entity_id
      where entry.key = ${key} and entry.state = 'pending' for no key update of entry
    ), claim as (
      select id from ${claim.row} and id = ${objectId}::uuid and exists (select from pending_entry) for update
    ), stored as (
      insert into object (id, size, md5, sha256, crc32, width, height, created_at, owner_id)
      select claim.id, ${sizeBytes}::bigint, ${md5}, ${sha256}, ${crc32}::bigint, ${dimensions?.width}::integer,
        ${dimensions?.height}::integer, ${storedAt}, open_bucket.owner_id
      from claim cross join open_bucket
    ), ended as (
      ${claim.end} where id in (select id from claim)
    )
    update entry set object_id = claim.id, version_id = ${versionId}::uuid, mimetype = ${mimetype}
    from claim cross join open_bucket
    where entry.entity_id = ${entityId} and entry.key = ${key}
    returning entry.created_at, entry.updated_at, entry.metadata, open_bucket.id as bucket_id`;
  return attached;
}

async function dimensionsOf(
  blobs: BlobStore,
  objectId: string,
  mimetype: string,
): Promise<Dimensions | null> {
  if (!isMeasured(mimetype)) return null;
  const blob = await blobs.open(objectId);
  try {
    return await imageDimensions(blob, mimetype);
  } finally {
    await blob.close();
  }
}
