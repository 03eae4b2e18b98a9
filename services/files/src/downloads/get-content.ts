import type { Readable } from 'node:stream';
import { create } from 'content-disposition';
import { LRUCache } from 'lru-cache';
import type { ByteRange } from '../blob/blob-store.ts';
import type { FilesContext } from '../context.ts';
import { type FileContent, type FileEntry, findFile } from '../file-entry.ts';
import { noSuchFile } from '../file-errors.ts';
import type { BytesPath, Respond } from '../http/content-path.ts';
import { isAttachment, servedType } from '../http/media-type.ts';
import { type Representation, serveRepresentation } from './representation.ts';
import { DamagedContent, openPart, readPart, verifiedBytes } from './verified-bytes.ts';

/** Prevents browsers from executing a file's content. */
export const SAFETY = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '1; mode=block',
};

function entityTag({ md5 }: FileContent): string {
  return `"md5:${md5}"`;
}

/** Headers of a file in every partial answer (REST document, 4.8). */
export function contentHeaders(key: string, content: FileContent): Record<string, string> {
  const isInline = !isAttachment(servedType(content.mimetype, key));
  return {
    'content-disposition': isInline ? 'inline' : create(key),
    // Of the whole file, also beside a part of it (RFC 9530, 3).
    'repr-digest': `sha-256=:${Buffer.from(content.sha256, 'hex').toString('base64')}:`,
  };
}

/** Milliseconds for which the entry of a published file is reused: it changes only when the files are purged. */
const PUBLISHED_MS = 1_000;

/**
 * GET and HEAD /content/{entityId}/{key}, with conditions and byte ranges.
 *
 * @throws ServiceError
 *   - `not_found`: no such file, or not committed
 *   - `precondition_failed`
 */
export function getContent(deps: FilesContext): Respond<BytesPath> {
  const published = new LRUCache<string, FileEntry>({ max: 5_000, ttl: PUBLISHED_MS });
  return async (request, response, { entityId, form }, { key }) => {
    const name = `${entityId}/${key}`;
    const entry = published.get(name) ?? (await findFile(deps.database, entityId, key));
    if (entry === undefined || !entry.isCompleted || entry.content === null) throw noSuchFile(entityId, key);
    if (form === 'published' && !published.has(name)) published.set(name, entry);
    await serveRepresentation(deps, request, response, fileRepresentation(deps, key, entry.content));
  };
}

/** Up to this size one buffer costs less than a stream. */
const MAX_BUFFERED_BYTES = 65_536;

/** A range of which nothing is read, although the object is opened. */
const NO_BYTES = { start: 0, end: -1 };

/** A file as it is served (REST document, 4.8). */
function fileRepresentation(deps: FilesContext, key: string, content: FileContent): Representation {
  const { blobs } = deps;
  return {
    sizeBytes: content.sizeBytes,
    etag: entityTag(content),
    lastModified: content.storedAt,
    type: servedType(content.mimetype, key),
    headers: contentHeaders(key, content),
    // By its definition it is the hash of the sent bytes, which would be wrong for a range.
    wholeHeaders: { 'content-md5': content.md5 },
    safety: SAFETY,
    storedPath: async () => {
      const path = blobs.pathOf?.(content.objectId);
      if (path !== undefined) (await openPart(blobs, content, NO_BYTES)).destroy();
      return path;
    },
    open: async (part) => {
      if (isToBeVerified(deps, content, part))
        return verified(deps, content, await openPart(blobs, content, part));
      return part.end - part.start < MAX_BUFFERED_BYTES
        ? readPart(blobs, content, part)
        : openPart(blobs, content, part);
    },
  };
}

function isToBeVerified(
  { verifyReadsPercent }: FilesContext,
  { sizeBytes }: FileContent,
  { start, end }: ByteRange,
): boolean {
  return start === 0 && end === sizeBytes - 1 && Math.random() * 100 < verifyReadsPercent;
}

const REPORT_CORRUPT = `
  update object set damage = 'corrupt', damaged_at = coalesce(damaged_at, $2) where id = $1`;

/** Damage is reported as by a fixity check. */
function verified({ database, now, logger }: FilesContext, content: FileContent, bytes: Readable): Readable {
  const { objectId } = content;
  const checked = verifiedBytes(bytes, content);
  checked.once('error', (error) => {
    if (!(error instanceof DamagedContent)) return;
    logger.error({ objectId, damage: 'corrupt' }, 'a stored object is damaged');
    database
      .$executeRawUnsafe(REPORT_CORRUPT, objectId, now())
      .catch((err: unknown) => logger.error({ err, objectId }, 'damage was not recorded'));
  });
  return checked;
}
