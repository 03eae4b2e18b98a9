import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import {
  type ChangeBucketDeps,
  type FileState,
  sealOver,
  selectFileState,
  settlingSeals,
} from '../buckets/change-bucket.ts';
import { entityQuotaExceeded, userQuotaExceeded } from '../file-errors.ts';
import { Prisma } from '../gen/prisma/client.ts';
import type { ContentPath } from '../http/content-path.ts';
import type { Database, Tx } from '../store/prisma.ts';

export interface ReserveDeps {
  database: Database;
  quotaTurns: InTurn;
  now: () => Date;
  maxBytesPerEntity: number;
  maxBytesPerUser: number;
  /** Milliseconds that replaced and deleted bytes stay stored, and count. */
  collectionGraceMs: number;
}

/** The upload of this id needs `needed` bytes and takes at most `wanted`. */
interface BytesRequest extends ContentPath {
  id: string;
  needed: number;
  wanted: number;
}

/** The bytes that an upload may reserve, and the rest of the limits. */
interface Allowance {
  owner_id: string | null;
  left_of_entity: bigint;
  left_of_user: bigint;
  user_limit: bigint;
  /** Null if less is left than it needs. */
  granted: bigint | null;
}

/**
 * A query for the `Allowance` of a request. Until its transaction ends, no other upload of the same owner gets any bytes. Locks of
 * entities precede it.
 */
function selectAllowance(
  { maxBytesPerEntity, maxBytesPerUser }: Pick<ReserveDeps, 'maxBytesPerEntity' | 'maxBytesPerUser'>,
  { id, entityId, key, needed, wanted }: BytesRequest,
  at: Date,
): Prisma.Sql {
  return Prisma.sql`
    select owner_id, left_of_entity, left_of_user, user_limit,
      case when ${needed}::bigint <= least(left_of_entity, left_of_user)
        then least(${wanted}::bigint, left_of_entity, left_of_user) end as granted
    from (
      select owner_id, coalesce(user_limit, ${maxBytesPerUser}::bigint) as user_limit,
        greatest(0, ${maxBytesPerEntity}::bigint - entity_bytes) as left_of_entity,
        greatest(0, coalesce(user_limit, ${maxBytesPerUser}::bigint) - user_bytes) as left_of_user
      from lock_usage(${entityId}, ${key}, ${id}::uuid, ${at}::timestamptz)
    ) as room`;
}

/** The granted bytes. @throws ServiceError `too_large` (`entity_quota_exceeded`, `user_quota_exceeded`) */
async function grantedBytes(
  db: Tx,
  { collectionGraceMs, maxBytesPerEntity }: ReserveDeps,
  { owner_id, left_of_entity, left_of_user, user_limit, granted }: Allowance,
  { needed }: Pick<BytesRequest, 'needed'>,
): Promise<number> {
  if (granted !== null) return Number(granted);
  if (needed > left_of_entity) throw entityQuotaExceeded(maxBytesPerEntity, Number(left_of_entity));
  const { bytes, since } = await findUnreferenced(db, owner_id);
  throw userQuotaExceeded({
    limitBytes: Number(user_limit),
    leftBytes: Number(left_of_user),
    unreferencedBytes: bytes,
    removedAfter: since === null ? null : new Date(since.getTime() + collectionGraceMs),
  });
}

async function findUnreferenced(
  db: Tx,
  ownerId: string | null,
): Promise<{ bytes: number; since: Date | null }> {
  const [row] = await db.$queryRaw<{ bytes: bigint; since: Date | null }[]>`
    select coalesce(sum(size), 0)::bigint as bytes, min(unreferenced_at) as since from object
    where owner_id = ${ownerId} and unreferenced_at is not null`;
  return { bytes: Number(row?.bytes ?? 0), since: row?.since ?? null };
}

/** Runs the tasks of one key one after the other, in the order of their calls. */
export type InTurn = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

/** Within this process: tasks wait here, instead of each with a connection for the same database lock. */
export function inTurn(): InTurn {
  const latest = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const done = (latest.get(key) ?? Promise.resolve()).then(work);
    // The next task waits for the end of this one, successful or not.
    const ended = done.then(forget, forget);
    latest.set(key, ended);
    return done;

    function forget(): void {
      if (latest.get(key) === ended) latest.delete(key);
    }
  };
}

export interface ReserveBytesDeps extends ReserveDeps, Pick<ChangeBucketDeps, 'settle'> {
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
  /** Call it once, at the end. */
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

type UploadPath = ContentPath & { id: string; ownerId: string | null };

/**
 * Reserves the length of a resumable upload, in the transaction of `save`, until it is finished, expires or is deleted.
 * @param lengthBytes null if it is declared later; until then `reserveMore` reserves step by step
 * @throws ServiceError `too_large` as `grantedBytes` does
 */
export async function reserveForUpload<Result>(
  deps: ReserveDeps,
  { lengthBytes, ...path }: UploadPath & { lengthBytes: number | null },
  save: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const needed = lengthBytes ?? 0;
  return afterOthers(deps, path, async (tx) => {
    const saved = await save(tx);
    await grantBytes(tx, deps, { ...path, needed, wanted: needed });
    return saved;
  });
}

/**
 * Reserves bytes for an upload of unknown length, of which `needed` bytes have arrived: these, and more if available.
 * @returns the number of reserved bytes
 * @throws ServiceError `too_large` as `grantedBytes` does
 */
export async function reserveMore(
  deps: ReserveDeps & { maxFileBytes: number },
  path: UploadPath,
  needed: number,
): Promise<number> {
  return afterOthers(deps, path, async (tx) => {
    await tx.$executeRaw`select from upload where id = ${path.id}::uuid for update`;
    const wanted = Math.max(needed, Math.min(needed + STEP_BYTES, deps.maxFileBytes));
    const reserved = await grantBytes(tx, deps, { ...path, needed, wanted });
    await tx.$executeRaw`update upload set reserved = ${reserved}::bigint where id = ${path.id}::uuid`;
    return reserved;
  });
}

async function grantBytes(tx: Tx, deps: ReserveDeps, request: BytesRequest): Promise<number> {
  const [allowance] = await tx.$queryRaw<[Allowance]>(selectAllowance(deps, request, deps.now()));
  return grantedBytes(tx, deps, allowance, request);
}

/** In a transaction that begins when no other upload of the owner waits in this process. */
function afterOthers<Result>(
  { database, quotaTurns }: ReserveDeps,
  { entityId, ownerId }: UploadPath,
  run: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return quotaTurns(ownerId ?? entityId, () => database.$transaction(run));
}
