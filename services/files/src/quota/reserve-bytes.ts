import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { type ChangeBucketDeps, settlingSeals } from '../buckets/change-bucket.ts';
import { type FileState, sealOver, selectFileState } from '../buckets/pending-file.ts';
import type { ContentPath } from '../http/content-path.ts';
import type { Database } from '../store/prisma.ts';
import {
  type Allowance,
  type AllowanceDeps,
  type BytesRequest,
  grantedBytes,
  selectAllowance,
} from './allowance.ts';
import type { InTurn } from './in-turn.ts';

export interface ReserveBytesDeps extends AllowanceDeps, Pick<ChangeBucketDeps, 'settle'> {
  database: Database;
  quotaTurns: InTurn;
  now: () => Date;
  logger: Logger;
}

/** Bytes reserved for one PUT. The reservation expires after its process has died. */
export interface Reservation {
  /**
   * Reserves more when the received bytes exceed the reserved ones.
   * @throws ServiceError `too_large` as `grantedBytes` does
   */
  cover(receivedBytes: number): Promise<void>;
  /** Ends it after a failure. True if the bytes were certainly not attached: then nothing else refers to them. */
  abandon(): Promise<boolean>;
  /** Is called once, at the end. */
  stop(): void;
}

const LIFE_MS = 300_000;
const RENEW_EVERY_MS = 60_000;

/** The step of reservations while the length is unknown. */
const STEP_BYTES = 16_777_216;

/** One PUT into a file. */
export interface Put extends ContentPath {
  objectId: string;
  /** Undefined if the client has not declared the length. */
  declaredBytes: number | undefined;
  /** The owner of the entity by its ticket; uploads of one owner reserve one after another. */
  ownerId: string | null;
}

/**
 * Reserves bytes for a PUT, if the file is pending.
 * @throws ServiceError the errors of `sealOver`, of `settlingSeals`, and `too_large` as `grantedBytes` does
 */
export async function reserveBytes(
  deps: ReserveBytesDeps,
  { objectId, declaredBytes, ownerId, ...path }: Put,
): Promise<Reservation> {
  const { database, quotaTurns, now, logger } = deps;
  const expiry = () => new Date(now().getTime() + LIFE_MS);

  const reserve = (needed: number, wanted: number, { isFirst }: { isFirst: boolean }): Promise<number> =>
    settlingSeals(deps, async () => {
      const request = { ...path, id: objectId, needed, wanted };
      const row = await quotaTurns(ownerId ?? path.entityId, () =>
        saveReservation(deps, request, { isFirst, expiresAt: expiry() }),
      );
      // Later, the transaction that attaches the bytes checks the file.
      const sealedBy = isFirst ? sealOver(row, path) : undefined;
      return sealedBy === undefined
        ? { value: await grantedBytes(database, deps, row, request) }
        : { sealedBy };
    });

  let reserved = await reserve(declaredBytes ?? 0, declaredBytes ?? STEP_BYTES, { isFirst: true });
  const renewal = setInterval(() => {
    // If the reservation has expired, its bytes are not attached.
    database.$executeRaw`update reservation set expires_at = ${expiry()} where id = ${objectId}::uuid`.catch(
      (err: unknown) => logger.warn({ err, objectId }, 'a reservation was not renewed'),
    );
  }, RENEW_EVERY_MS);

  return {
    cover: async (received) => {
      if (received > reserved) reserved = await reserve(received, received + STEP_BYTES, { isFirst: false });
    },
    abandon: async () => {
      try {
        const ended = await database.$executeRaw`delete from reservation where id = ${objectId}::uuid`;
        return ended === 1;
      } catch (err) {
        logger.warn({ err, objectId }, 'a reservation is left to expire');
        return false;
      }
    },
    stop: () => clearInterval(renewal),
  };
}

/**
 * One statement, so that a PUT waits for the database once before its bytes. Its commit does not wait for the disk: without its
 * reservation, an upload fails and can be repeated. On the way it deletes expired reservations of the same owner or entity.
 */
async function saveReservation(
  { database, now, ...limits }: ReserveBytesDeps,
  request: BytesRequest,
  { isFirst, expiresAt }: { isFirst: boolean; expiresAt: Date },
): Promise<FileState & Allowance> {
  const at = now();
  const { id, entityId } = request;
  const [row] = await database.$queryRaw<(FileState & Allowance)[]>`
    with file as (${selectFileState(request)}
    ), allowance as (
      select allowance.* from file cross join lateral (${selectAllowance(limits, request, at)}) as allowance
      where not ${isFirst}::boolean or (file.bucket_state = 'open' and file.entry_state = 'pending')
    ), expired as (
      delete from reservation where id in (
        select reservation.id from reservation join allowance
          on reservation.entity_id = ${entityId} or reservation.owner_id = allowance.owner_id
        where reservation.expires_at <= ${at} and reservation.id <> ${id}::uuid limit 100
        for update of reservation skip locked)
    ), reserved as (
      insert into reservation (id, entity_id, owner_id, bytes, expires_at)
      select ${id}::uuid, ${entityId}, owner_id, granted, ${expiresAt} from allowance where granted is not null
      on conflict (id) do update set bytes = excluded.bytes, expires_at = excluded.expires_at
    )
    select file.*, allowance.*, set_config('synchronous_commit', 'off', true) as commit
    from file left join allowance on true`;
  if (row === undefined) throw new ServiceError('internal', 'A reservation has no answer.');
  return row;
}
