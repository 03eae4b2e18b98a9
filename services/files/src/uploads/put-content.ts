import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@kr/service-error';
import type { FilesContext } from '../context.ts';
import { fileTooLarge } from '../file-errors.ts';
import { bufferedBody } from '../http/body.ts';
import type { BytesPath, Respond } from '../http/content-path.ts';
import { answerAndClose, stalled } from '../http/errors.ts';
import { type Put, reserveForPut } from '../quota/reserve-bytes.ts';
import { type AttachedEntry, attachContent, attachStatement } from './attach-content.ts';

/**
 * PUT /content/{entityId}/{key}: stores the bytes of a pending entry, in place of earlier ones. Two statements: one reserves
 * the bytes before they arrive, one attaches them when they are durable. No transaction is open in between.
 *
 * @throws ServiceError
 *   - `not_found`: no such file
 *   - `invalid`: completed already
 *   - `too_large`: over the limit of a file, or over the remaining quota of its entity or of the entity's owner
 *   - `insufficient_storage`
 *   - the errors of `blockingPublication` and `retryAfterPublication`, before or after the bytes
 */
export function putContent(deps: FilesContext): Respond<BytesPath> {
  return async (request, response, { entityId, ownerId = null }, { key }) => {
    const length = request.headers['content-length'];
    const declaredBytes = length === undefined ? undefined : Number(length);
    if (declaredBytes !== undefined && declaredBytes > deps.maxFileBytes)
      throw fileTooLarge(deps.maxFileBytes);
    const put = { entityId, key, objectId: deps.newId(), declaredBytes, ownerId };
    const entry = await store(deps, request, response, put);
    const body = Buffer.from(JSON.stringify(pendingEntryJson(entry)));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  };
}

const ATTACH = attachStatement('reservation where expires_at > $13::timestamptz', 'delete from reservation');

async function store(
  deps: FilesContext,
  request: IncomingMessage,
  response: ServerResponse,
  put: Put,
): Promise<AttachedEntry> {
  const { objectId, declaredBytes } = put;
  const { maxFileBytes, blobs, buffers, progress, logger } = deps;
  const reservation = await reserveForPut(deps, put);
  const hash = deps.newHash(declaredBytes);
  const admit = async (totalBytes: number) => {
    if (totalBytes > maxFileBytes) throw fileTooLarge(maxFileBytes);
    await reservation.extend(totalBytes);
  };
  try {
    if (request.headers.expect !== undefined) response.writeContinue();
    const onStall = () => answerAndClose(request, response, stalled());
    const bytes = bufferedBody(request, { buffers, progress, onStall, admit, hash });
    const sizeBytes = await blobs.write(objectId, bytes, { sizeHint: declaredBytes ?? maxFileBytes });
    const stored = { objectId, sizeBytes, ...(await hash.digests()) };
    return await attachContent(deps, put, stored, {
      statement: ATTACH,
      value: deps.now(),
      lost: reservationLost,
    });
  } catch (error) {
    // The statement that attaches the bytes deletes the reservation: if it still exists, they are not attached.
    if (await reservation.release())
      await blobs.remove(objectId).catch((err: unknown) => {
        // The client must get the refusal; the garbage collection finds the object.
        logger.warn({ err, objectId }, 'unreferenced bytes left');
      });
    throw error;
  } finally {
    hash.drop();
    reservation.stopRenewal();
  }
}

function reservationLost(): ServiceError {
  return new ServiceError('unavailable', 'The reservation of the upload has expired.', {
    retryAfterMs: 1_000,
  });
}

/** The public document of a pending file without `links`; instants are ISO 8601 with microseconds. */
function pendingEntryJson({ key, createdAt, updatedAt, metadata }: AttachedEntry): Record<string, unknown> {
  const instant = (date: Date) => date.toISOString().replace('Z', '000Z');
  const times = { created: instant(createdAt), updated: instant(updatedAt) };
  return { key, ...times, status: 'pending', metadata: metadata === null ? null : JSON.parse(metadata) };
}
