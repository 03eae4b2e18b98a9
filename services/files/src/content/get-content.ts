import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@kr/service-error';
import type { BlobStore, ByteRange } from '../blob/blob-store.ts';
import type { FileContent } from '../file-entry.ts';
import { noSuchFile } from '../file-errors.ts';
import { findEntry } from '../store/entry-store.ts';
import type { Database } from '../store/prisma.ts';
import { byteRange } from './byte-range.ts';
import { sendError } from './content-error.ts';
import { contentHeaders, entityTag } from './content-headers.ts';
import type { ContentPath } from './content-path.ts';
import { isRangeValid, precondition } from './precondition.ts';

export interface GetContentDeps {
  database: Database;
  blobs: BlobStore;
  /** Milliseconds a reader may take nothing before the connection is ended. */
  idleMs: number;
}

/**
 * GET and HEAD /content/{entityId}/{key}, with conditions and one byte range (RFC 9110).
 *
 * @throws ServiceError
 *   - `not_found`: no such file, or not committed
 *   - `precondition_failed`
 */
export function getContent({ database, blobs, idleMs }: GetContentDeps) {
  return async (request: IncomingMessage, response: ServerResponse, path: ContentPath): Promise<void> => {
    const { entityId, key } = path;
    const entry = await findEntry(database, entityId, key);
    if (entry === undefined || !entry.isCompleted || entry.content === null) throw noSuchFile(entityId, key);
    const { content } = entry;

    const headers = contentHeaders(key, content);
    const validators = { etag: entityTag(content), lastModified: content.storedAt };
    const condition = precondition(request.headers, validators);
    if (condition === 'failed')
      throw new ServiceError('precondition_failed', 'The file has another version.');
    if (condition === 'unchanged') return void response.writeHead(304, headers).end();

    const isRanged =
      request.method === 'GET' && isRangeValid(request.headers['if-range']?.toString(), validators);
    const range = byteRange(isRanged ? request.headers.range : undefined, content.sizeBytes);
    if (range === 'unsatisfiable') {
      response.setHeader('content-range', `bytes */${content.sizeBytes}`);
      return sendError(response, 416, 'The range lies outside the file.');
    }
    const part = range === 'whole' ? undefined : range;
    if (request.method === 'HEAD') {
      return void response.writeHead(200, { ...headers, 'content-length': content.sizeBytes }).end();
    }
    response.setTimeout(idleMs, () => response.destroy());
    await send(blobs, response, headers, content, part);
  };
}

async function send(
  blobs: BlobStore,
  response: ServerResponse,
  headers: Record<string, string>,
  { objectId, sizeBytes }: FileContent,
  range: ByteRange | undefined,
): Promise<void> {
  const blob = await blobs.open(objectId);
  if (blob.sizeBytes !== sizeBytes) {
    await blob.close();
    throw new Error(`object ${objectId} has ${blob.sizeBytes} bytes instead of ${sizeBytes}`);
  }
  if (range === undefined) {
    response.writeHead(200, { ...headers, 'content-length': sizeBytes });
  } else {
    response.writeHead(206, {
      ...headers,
      'content-length': range.end - range.start + 1,
      'content-range': `bytes ${range.start}-${range.end}/${sizeBytes}`,
    });
  }
  await pipeline(blob.stream(range), response);
}
