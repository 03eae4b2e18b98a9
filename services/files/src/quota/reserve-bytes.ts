import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { ContentPath } from '../http/content-path.ts';
import type { Database, Tx } from '../store/prisma.ts';
import { type GrantBytesDeps, grantBytes } from './grant-bytes.ts';
import type { InTurn } from './in-turn.ts';
import { deleteReservation, findOwner, renewReservation, saveReservation } from './quota-store.ts';

export interface ReserveBytesDeps extends GrantBytesDeps {
  database: Database;
  quotaTurns: InTurn;
  logger: Logger;
}

/** Bytes reserved for one upload. The reservation expires after its process has died. */
export interface Reservation {
  /**
   * Passes bytes on, and reserves more before further ones arrive.
   * @throws ServiceError `too_large` as `grantBytes` does
   */
  covered(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /**
   * Ends it in the transaction that makes the bytes count by themselves.
   *
   * @throws ServiceError `unavailable`: it has ended before
   */
  settle(tx: Tx): Promise<void>;
  /** Ends it after a failure. True if the bytes were certainly not attached: then nothing else refers to them. */
  abandon(): Promise<boolean>;
  /** Is called once, at the end. */
  stop(): void;
}

const LIFE_MS = 300_000;
const RENEW_EVERY_MS = 60_000;

/** The step of reservations while the length is unknown. */
const STEP_BYTES = 16_777_216;

/**
 * Reserves bytes for the upload of an object into a file.
 * @param declaredBytes undefined if the client has not declared the length
 * @throws ServiceError `too_large` as `grantBytes` does
 */
export async function reserveBytes(
  deps: ReserveBytesDeps,
  path: ContentPath,
  { objectId, declaredBytes }: { objectId: string; declaredBytes: number | undefined },
): Promise<Reservation> {
  const { database, quotaTurns, now, logger } = deps;
  const ownerId = await findOwner(database, path.entityId);
  const expiry = () => new Date(now().getTime() + LIFE_MS);
  let promised = 0;

  const promise = (asked: { needed: number; wanted: number }): Promise<void> =>
    quotaTurns(ownerId ?? path.entityId, () =>
      database.$transaction(async (tx) => {
        const bytes = await grantBytes(tx, deps, { ...path, ownerId }, { id: objectId, ...asked });
        const row = { id: objectId, entityId: path.entityId, ownerId, bytes, expiresAt: expiry() };
        await saveReservation(tx, row, now());
        promised = bytes;
      }),
    );

  await promise({ needed: declaredBytes ?? 0, wanted: declaredBytes ?? STEP_BYTES });
  const renewal = setInterval(() => {
    // An expired reservation causes an error when it is settled.
    renewReservation(database, objectId, expiry()).catch((err: unknown) => {
      logger.warn({ err, objectId }, 'a reservation was not renewed');
    });
  }, RENEW_EVERY_MS);

  return {
    covered: async function* (bytes) {
      let come = 0;
      for await (const chunk of bytes) {
        come += chunk.length;
        if (come > promised) await promise({ needed: come, wanted: come + STEP_BYTES });
        yield chunk;
      }
    },
    settle: async (tx) => {
      if ((await deleteReservation(tx, objectId, now())) !== 'held') throw reservationLost();
    },
    abandon: async () => {
      try {
        return (await deleteReservation(database, objectId, now())) !== 'none';
      } catch (err) {
        logger.warn({ err, objectId }, 'a reservation is left to expire');
        return false;
      }
    },
    stop: () => clearInterval(renewal),
  };
}

function reservationLost(): ServiceError {
  return new ServiceError('unavailable', 'The upload has lost the room that was promised to it.', {
    retryAfterMs: 1_000,
  });
}
