import { failpoint } from '@kr/failpoint';
import { ServiceError } from '@kr/service-error';
import { GIF } from 'image-size/types/gif';
import type { IImage } from 'image-size/types/interface';
import { JPG } from 'image-size/types/jpg';
import { PNG } from 'image-size/types/png';
import { TIFF } from 'image-size/types/tiff';
import type { BlobStore, OpenBlob, StoredBytes } from '../blob/blob-store.ts';
import { type ChangeBucketDeps, changeBucket } from '../buckets/change-bucket.ts';
import type { Dimensions, FileEntry } from '../file-entry.ts';
import { noSuchFile } from '../file-errors.ts';
import type { ContentPath } from '../http/content-path.ts';
import { mimetypeOf } from '../http/media-type.ts';
import { findEntry } from '../store/entry-store.ts';
import type { Tx } from '../store/prisma.ts';

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

export interface AttachContentDeps extends ChangeBucketDeps {
  blobs: BlobStore;
}

/**
 * Makes stored bytes the content of a pending entry, in place of those it had, in one short transaction that
 * `alongside` may add to.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: completed already
 *   - what `changeBucket` and `alongside` throw
 */
export async function attachContent(
  deps: AttachContentDeps,
  path: ContentPath,
  { objectId, sizeBytes, md5, sha256, crc32 }: StoredBytes & { objectId: string },
  alongside: (tx: Tx) => Promise<void> = async () => {},
): Promise<FileEntry> {
  const { entityId, key } = path;
  const mimetype = mimetypeOf(key);
  const dimensions = await dimensionsOf(deps.blobs, objectId, mimetype);
  const attached = await changeBucket(deps, entityId, async (tx): Promise<FileEntry> => {
    // Minutes may have passed: the file may be gone, completed by another upload, or its draft published.
    const entry = await findPending(tx, path);
    const storedAt = deps.now();
    const versionId = deps.newId();
    await tx.$executeRaw`
      insert into object (id, size, md5, sha256, crc32, width, height, created_at, owner_id)
      values (${objectId}::uuid, ${sizeBytes}::bigint, ${md5}, ${sha256}, ${crc32}::bigint, ${dimensions?.width}::integer,
        ${dimensions?.height}::integer, ${storedAt}, (select owner_id from bucket where entity_id = ${entityId}))`;
    await tx.entry.update({
      where: { entityId_key: { entityId, key } },
      data: { objectId, versionId, mimetype },
    });
    await alongside(tx);
    await failpoint('files.attach.inside');
    return {
      ...entry,
      content: { objectId, versionId, sizeBytes, md5, sha256, mimetype, storedAt, dimensions },
    };
  });
  await failpoint('files.attach.after');
  return attached;
}

/**
 * The entry, if bytes may still be put into it.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: completed already
 */
export async function findPending(db: Tx, { entityId, key }: ContentPath): Promise<FileEntry> {
  const entry = await findEntry(db, entityId, key);
  if (entry === undefined) throw noSuchFile(entityId, key);
  if (entry.isCompleted)
    throw new ServiceError('invalid', 'The file upload transfer failed, please try again.', {
      code: 'file_completed',
      members: { hint: `${key} is complete already; delete it before you upload it again.` },
    });
  return entry;
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
