import type { IncomingMessage, ServerResponse } from 'node:http';
import { failpoint } from '@kr/failpoint';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { BlobStore, StoredBytes } from '../blob/blob-store.ts';
import { type ChangeBucketDeps, changeBucket, checkChangeable } from '../buckets/change-bucket.ts';
import type { Dimensions, FileEntry } from '../file-entry.ts';
import { fileEntryJson } from '../file-entry-json.ts';
import { fileTooLarge, lengthMismatch, noSuchFile } from '../file-errors.ts';
import { findEntry } from '../store/entry-store.ts';
import type { Database, Tx } from '../store/prisma.ts';
import { sendError } from './content-error.ts';
import type { ContentPath } from './content-path.ts';
import { imageDimensions, isMeasured } from './image-dimensions.ts';
import { mimetypeOf } from './media-type.ts';
import { type ProgressLimits, watchProgress } from './watch-progress.ts';

export interface PutContentDeps extends ChangeBucketDeps {
  database: Database;
  blobs: BlobStore;
  maxFileBytes: number;
  progress: ProgressLimits;
  logger: Logger;
}

/**
 * PUT /content/{entityId}/{key}: the bytes of a pending entry; until it is committed the last ones win. They are
 * durable before the short transaction that attaches them, and no transaction is open while they flow.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: completed already, too large, or not as long as declared
 *   - `insufficient_storage`
 *   - what `changeBucket` throws, before the bytes are read or after
 */
export function putContent(deps: PutContentDeps) {
  return async (request: IncomingMessage, response: ServerResponse, path: ContentPath): Promise<void> => {
    const declaredBytes = declaredLength(request);
    if (declaredBytes !== undefined && declaredBytes > deps.maxFileBytes)
      throw fileTooLarge(deps.maxFileBytes);
    await checkChangeable(deps, path.entityId);
    await getPending(deps.database, path);

    const objectId = deps.newId();
    if (request.headers.expect !== undefined) response.writeContinue();
    const stored = await receive(deps, request, response, objectId);
    let entry: FileEntry;
    try {
      if (declaredBytes !== undefined && stored.sizeBytes !== declaredBytes) throw lengthMismatch();
      entry = await attach(deps, path, objectId, stored);
    } catch (error) {
      // After any other failure the row may exist all the same: then only the sweep may judge.
      if (error instanceof ServiceError) await discard(deps, objectId);
      throw error;
    }
    const body = Buffer.from(JSON.stringify(fileEntryJson(entry)));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  };
}

async function discard({ blobs, logger }: PutContentDeps, objectId: string): Promise<void> {
  try {
    await blobs.remove(objectId);
  } catch (err) {
    // The refusal is what the client must hear; the sweep finds the object.
    logger.warn({ err, objectId }, 'orphaned bytes left');
  }
}

function declaredLength(request: IncomingMessage): number | undefined {
  const header = request.headers['content-length'];
  return header === undefined ? undefined : Number(header);
}

function receive(
  { blobs, maxFileBytes, progress }: PutContentDeps,
  request: IncomingMessage,
  response: ServerResponse,
  objectId: string,
): Promise<StoredBytes> {
  const giveUp = () => {
    response.once('finish', () => request.destroy());
    response.setHeader('connection', 'close');
    sendError(response, 408, 'The upload made no progress.');
  };
  return blobs.write(objectId, watchProgress(request, progress, giveUp), { maxBytes: maxFileBytes });
}

/** The entry, if bytes may still be put into it. */
async function getPending(db: Tx, { entityId, key }: ContentPath): Promise<FileEntry> {
  const entry = await findEntry(db, entityId, key);
  if (entry === undefined) throw noSuchFile(entityId, key);
  if (entry.isCompleted)
    throw new ServiceError('invalid', 'The file upload transfer failed, please try again.');
  return entry;
}

async function attach(
  deps: PutContentDeps,
  path: ContentPath,
  objectId: string,
  { sizeBytes, md5 }: StoredBytes,
): Promise<FileEntry> {
  const { entityId, key } = path;
  const mimetype = mimetypeOf(key);
  const dimensions = await dimensionsOf(deps.blobs, objectId, mimetype);
  const attached = await changeBucket(deps, entityId, async (tx): Promise<FileEntry> => {
    // Minutes may have passed: the file may be gone, completed by another upload, or its draft published.
    const entry = await getPending(tx, path);
    const storedAt = deps.now();
    const versionId = deps.newId();
    await tx.storedObject.create({
      data: { id: objectId, size: sizeBytes, md5, ...dimensions, createdAt: storedAt },
    });
    await tx.entry.update({
      where: { entityId_key: { entityId, key } },
      data: { objectId, versionId, mimetype },
    });
    await failpoint('files.attach.inside');
    return { ...entry, content: { objectId, versionId, sizeBytes, md5, mimetype, storedAt, dimensions } };
  });
  await failpoint('files.attach.after');
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
