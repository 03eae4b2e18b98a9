import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '@kr/telemetry';
import type { NewContentHash } from '../blob/content-hash.ts';
import type { FileEntry } from '../file-entry.ts';
import { fileEntryJson } from '../file-entry.ts';
import { fileTooLarge, lengthMismatch, reservationLost } from '../file-errors.ts';
import { Prisma } from '../gen/prisma/client.ts';
import type { ChunkBuffers } from '../http/body.ts';
import { bufferedBody, type ProgressLimits } from '../http/body.ts';
import type { ContentPath, Respond } from '../http/content-path.ts';
import { breakOff, stalled } from '../http/errors.ts';
import { type Put, type ReserveBytesDeps, reserveBytes } from '../quota/reserve-bytes.ts';
import { type AttachContentDeps, attachContent, type UploadClaim } from './attach-content.ts';

export interface PutContentDeps extends AttachContentDeps, ReserveBytesDeps {
  maxFileBytes: number;
  newHash: NewContentHash;
  buffers: ChunkBuffers;
  progress: ProgressLimits;
  logger: Logger;
}

/**
 * PUT /content/{entityId}/{key}: the bytes of a pending entry; until it is committed the last ones win. They are
 * durable before the statement that attaches them, and no transaction is open while they flow.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: completed already, or not as long as declared
 *   - `too_large`: over the limit of a file, or what is left of the quota of its entity or of the entity's owner
 *   - `insufficient_storage`
 *   - what `changeBucket` throws, before the bytes are read or after
 */
export function putContent(deps: PutContentDeps): Respond<ContentPath> {
  return async (request, response, { entityId, key }, { ownerId }) => {
    const declaredBytes = declaredLength(request);
    if (declaredBytes !== undefined && declaredBytes > deps.maxFileBytes)
      throw fileTooLarge(deps.maxFileBytes);
    const put = { entityId, key, objectId: deps.newId(), declaredBytes, ownerId: ownerId ?? null };
    const entry = await store(deps, request, response, put);
    const body = Buffer.from(JSON.stringify(fileEntryJson(entry)));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  };
}

async function store(
  deps: PutContentDeps,
  request: IncomingMessage,
  response: ServerResponse,
  put: Put,
): Promise<FileEntry> {
  const { objectId, declaredBytes } = put;
  const { maxFileBytes } = deps;
  const reservation = await reserveBytes(deps, put);
  const hash = deps.newHash(declaredBytes);
  const admit = async (totalBytes: number) => {
    if (totalBytes > maxFileBytes) throw fileTooLarge(maxFileBytes);
    await reservation.cover(totalBytes);
  };
  try {
    if (request.headers.expect !== undefined) response.writeContinue();
    const onStall = () => breakOff(request, response, stalled());
    const bytes = bufferedBody(request, { ...deps, onStall, admit, hash });
    const sizeBytes = await deps.blobs.write(objectId, bytes, { maxBytes: declaredBytes ?? maxFileBytes });
    if (declaredBytes !== undefined && sizeBytes !== declaredBytes) throw lengthMismatch();
    const digests = await hash.digests();
    return await attachContent(deps, put, { objectId, sizeBytes, ...digests }, reserved(deps));
  } catch (error) {
    // The statement that attaches the bytes ends the reservation: while there is one, they are not attached.
    if (await reservation.abandon()) await discard(deps, objectId);
    throw error;
  } finally {
    hash.drop();
    reservation.stop();
  }
}

function reserved({ now }: PutContentDeps): UploadClaim {
  return {
    row: Prisma.sql`reservation where expires_at > ${now()}`,
    end: Prisma.sql`delete from reservation`,
    lost: reservationLost,
  };
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
