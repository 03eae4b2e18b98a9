import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { StoredBytes } from '../blob/blob-store.ts';
import { checkChangeable } from '../buckets/change-bucket.ts';
import type { FileEntry } from '../file-entry.ts';
import { fileEntryJson } from '../file-entry-json.ts';
import { fileTooLarge, lengthMismatch } from '../file-errors.ts';
import type { Database } from '../store/prisma.ts';
import { type AttachContentDeps, attachContent, findPending } from './attach-content.ts';
import { breakOff, stalled } from './content-error.ts';
import type { ContentPath } from './content-path.ts';
import { type ProgressLimits, watchProgress } from './watch-progress.ts';

export interface PutContentDeps extends AttachContentDeps {
  database: Database;
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
    await findPending(deps.database, path);

    const objectId = deps.newId();
    if (request.headers.expect !== undefined) response.writeContinue();
    const stored = await receive(deps, request, response, { objectId, expectedBytes: declaredBytes });
    let entry: FileEntry;
    try {
      if (declaredBytes !== undefined && stored.sizeBytes !== declaredBytes) throw lengthMismatch();
      entry = await attachContent(deps, path, { objectId, ...stored });
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
  { objectId, expectedBytes }: { objectId: string; expectedBytes: number | undefined },
): Promise<StoredBytes> {
  const bytes = watchProgress(request, progress, () => breakOff(request, response, stalled()));
  return blobs.write(objectId, bytes, { maxBytes: maxFileBytes, expectedBytes });
}
