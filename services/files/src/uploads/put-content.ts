import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '@kr/telemetry';
import { checkChangeable } from '../buckets/change-bucket.ts';
import type { FileEntry } from '../file-entry.ts';
import { fileEntryJson } from '../file-entry.ts';
import { fileTooLarge, lengthMismatch } from '../file-errors.ts';
import type { ChunkBuffers } from '../http/body.ts';
import { bufferedBody, type ProgressLimits } from '../http/body.ts';
import type { ContentPath } from '../http/content-path.ts';
import { breakOff, stalled } from '../http/errors.ts';
import { type Reservation, type ReserveBytesDeps, reserveBytes } from '../quota/reserve-bytes.ts';
import type { Database } from '../store/prisma.ts';
import { type AttachContentDeps, attachContent, findPending } from './attach-content.ts';

export interface PutContentDeps extends AttachContentDeps, ReserveBytesDeps {
  database: Database;
  maxFileBytes: number;
  buffers: ChunkBuffers;
  progress: ProgressLimits;
  logger: Logger;
}

/**
 * PUT /content/{entityId}/{key}: the bytes of a pending entry; until it is committed the last ones win. They are
 * durable before the short transaction that attaches them, and no transaction is open while they flow.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: completed already, or not as long as declared
 *   - `too_large`: over the limit of a file, or what is left of the quota of its entity or of the entity's owner
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

    const entry = await store(deps, request, response, { ...path, declaredBytes });
    const body = Buffer.from(JSON.stringify(fileEntryJson(entry)));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  };
}

interface AskedPut extends ContentPath {
  declaredBytes: number | undefined;
}

async function store(
  deps: PutContentDeps,
  request: IncomingMessage,
  response: ServerResponse,
  { declaredBytes, ...path }: AskedPut,
): Promise<FileEntry> {
  const objectId = deps.newId();
  const reservation = await reserveBytes(deps, path, { objectId, declaredBytes });
  try {
    if (request.headers.expect !== undefined) response.writeContinue();
    const bytes = receive(deps, request, response, reservation);
    const { maxFileBytes: maxBytes } = deps;
    const stored = await deps.blobs.write(objectId, bytes, { maxBytes, expectedBytes: declaredBytes });
    if (declaredBytes !== undefined && stored.sizeBytes !== declaredBytes) throw lengthMismatch();
    return await attachContent(deps, path, { objectId, ...stored }, reservation.settle);
  } catch (error) {
    // The transaction that attaches the bytes ends the reservation: while there is one, they are not attached.
    if (await reservation.abandon()) await discard(deps, objectId);
    throw error;
  } finally {
    reservation.stop();
  }
}

async function discard({ blobs, logger }: PutContentDeps, objectId: string): Promise<void> {
  try {
    await blobs.remove(objectId);
  } catch (err) {
    // The client must get the refusal; the collection finds the object.
    logger.warn({ err, objectId }, 'unreferenced bytes left');
  }
}

function declaredLength(request: IncomingMessage): number | undefined {
  const header = request.headers['content-length'];
  return header === undefined ? undefined : Number(header);
}

function receive(
  { buffers, progress }: PutContentDeps,
  request: IncomingMessage,
  response: ServerResponse,
  reservation: Reservation,
): AsyncIterable<Uint8Array> {
  const onStall = () => breakOff(request, response, stalled());
  const bytes = bufferedBody(request, { buffers, progress, onStall });
  return reservation.covered(bytes);
}
