import type { Sql } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import {
  assertStorable,
  blockingPublication,
  FILE_STATE,
  type FileRef,
  type FileState,
  retryAfterPublication,
} from '../buckets/change-bucket.ts';
import type { FilesContext } from '../context.ts';

/** The upload `id` into a file needs `needed` bytes and takes at most `requested`. */
interface BytesRequest extends FileRef {
  id: string;
  needed: number;
  requested: number;
}

/** The bytes that an upload may reserve, and the rest of the limits. */
interface Allowance {
  ownerId: string | null;
  leftOfEntity: number;
  leftOfUser: number;
  userLimit: number;
  /** Null if less is left than it needs. */
  granted: number | null;
}

/**
 * Columns of an `Allowance`, from `grant_bytes` with `allowanceValues`. Until the transaction ends, no other upload of the same
 * owner gets any bytes. Locks of entities precede it.
 */
const ALLOWANCE = `
  owner_id as "ownerId", left_of_entity::float8 as "leftOfEntity", left_of_user::float8 as "leftOfUser",
  user_limit::float8 as "userLimit", granted::float8 as granted`;

function allowanceValues(
  { now, maxBytesPerEntity, maxBytesPerUser }: FilesContext,
  { entityId, key, id, needed, requested }: BytesRequest,
): unknown[] {
  return [entityId, key, id, needed, requested, maxBytesPerEntity, maxBytesPerUser, now()];
}

/** The granted bytes. @throws ServiceError `too_large` (`entity_quota_exceeded`, `user_quota_exceeded`) */
async function grantedOrThrow(
  sql: Sql,
  { garbageGraceMs, maxBytesPerEntity }: FilesContext,
  { ownerId, leftOfEntity, leftOfUser, userLimit, granted }: Allowance,
  { needed }: BytesRequest,
): Promise<number> {
  if (granted !== null) return granted;
  if (needed > leftOfEntity)
    throw new ServiceError('too_large', 'Bucket quota exceeded.', {
      code: 'entity_quota_exceeded',
      issues: tooManyBytes('one entity', maxBytesPerEntity, leftOfEntity),
    });
  const [{ bytes, since }] = await sql.$queryRawUnsafe<[{ bytes: number; since: Date | null }]>(
    `select coalesce(sum(size), 0)::float8 as bytes, min(unreferenced_at) as since from object
     where owner_id = $1 and unreferenced_at is not null`,
    ownerId,
  );
  const unreferenced =
    since === null
      ? ' Replaced and deleted files count until they are removed from the store.'
      : ` ${bytes} bytes of replaced and deleted files still count; the first are removed after ${minuteAfter(since, garbageGraceMs)}.`;
  throw new ServiceError('too_large', 'User quota exceeded.', {
    code: 'user_quota_exceeded',
    issues: tooManyBytes('this user', userLimit, leftOfUser, unreferenced),
  });
}

function tooManyBytes(of: string, limitBytes: number, leftBytes: number, unreferenced = '') {
  const limit = `The files of ${of} may have at most ${limitBytes} bytes, of which ${leftBytes} are left.`;
  return [{ field: 'size', messages: [limit + unreferenced] }];
}

function minuteAfter(instant: Date, ms: number): string {
  const minute = Math.ceil((instant.getTime() + ms) / 60_000);
  return `${new Date(minute * 60_000).toISOString().slice(0, 16)}Z`;
}

/** Bytes reserved for one PUT. The reservation expires after its process has died. */
export interface Reservation {
  /**
   * Reserves more when the received bytes exceed the reserved ones.
   * @throws ServiceError `too_large` as `grantedOrThrow` does
   */
  extend(receivedBytes: number): Promise<void>;
  /** Deletes it after a failure. True if the bytes were certainly not attached: then nothing else refers to them. */
  release(): Promise<boolean>;
  stopRenewal(): void;
}

const LIFE_MS = 300_000;
const RENEW_EVERY_MS = 60_000;

/** The step of reservations while the length is unknown. */
const STEP_BYTES = 16_777_216;

/** One PUT into a file. */
export interface Put extends FileRef {
  objectId: string;
  /** Undefined if the client has not declared the length. */
  declaredBytes: number | undefined;
  /** The owner of the entity by its ticket; uploads of one owner reserve one after another. */
  ownerId: string | null;
}

/**
 * Reserves bytes for a PUT, if the file is pending.
 * @throws ServiceError the errors of `blockingPublication`, of `retryAfterPublication`, and `too_large` as `grantedOrThrow` does
 */
export async function reserveForPut(
  deps: FilesContext,
  { objectId: id, declaredBytes, ownerId, entityId, key }: Put,
): Promise<Reservation> {
  const { database, quotaMutex, finishPublications, now, logger } = deps;
  const expiry = () => new Date(now().getTime() + LIFE_MS);
  assertStorable({ entityId, key });

  const reserve = async (request: BytesRequest, { isFirst }: { isFirst: boolean }): Promise<ReserveRow> => {
    const values = () => [...allowanceValues(deps, request), isFirst, expiry()];
    const [row] = await quotaMutex(ownerId ?? entityId, () =>
      database.$queryRawUnsafe<[ReserveRow]>(RESERVE, ...values()),
    );
    return row;
  };

  const file = { entityId, key, id };
  const first = { ...file, needed: declaredBytes ?? 0, requested: declaredBytes ?? STEP_BYTES };
  let reserved = await retryAfterPublication(finishPublications, async () => {
    const row = await reserve(first, { isFirst: true });
    const sealedBy = blockingPublication(row, first);
    return sealedBy === undefined
      ? { value: await grantedOrThrow(database, deps, row, first) }
      : { sealedBy };
  });
  const renewal = setInterval(() => {
    // If the reservation has expired, its bytes are not attached.
    database
      .$executeRawUnsafe('update reservation set expires_at = $2 where id = $1', id, expiry())
      .catch((err: unknown) => logger.warn({ err, objectId: id }, 'a reservation was not renewed'));
  }, RENEW_EVERY_MS);

  return {
    extend: async (received) => {
      if (received <= reserved) return;
      const more = { ...file, needed: received, requested: received + STEP_BYTES };
      // The statement that attaches the bytes checks the file again.
      reserved = await grantedOrThrow(database, deps, await reserve(more, { isFirst: false }), more);
    },
    release: async () => {
      try {
        return (await database.$executeRawUnsafe('delete from reservation where id = $1', id)) === 1;
      } catch (err) {
        logger.warn({ err, objectId: id }, 'a reservation is left to expire');
        return false;
      }
    },
    stopRenewal: () => clearInterval(renewal),
  };
}

/**
 * A row of `RESERVE`. If the first one of a PUT finds the file not pending, or its bucket not open, the columns of the
 * allowance are null, and `blockingPublication` must be called before they are read.
 */
type ReserveRow = FileState & Allowance;

/**
 * One statement, so that a PUT waits for the database once before its bytes: `$9` whether it is the first, `$10` the expiry. Its
 * commit does not wait for the disk: without its reservation, an upload fails and can be repeated. It also deletes expired
 * reservations of the same owner or entity.
 */
const RESERVE = `
  with file as (${FILE_STATE}
  ), allowance as (
    select allowance.* from file
    cross join lateral grant_bytes(file.entity_id, file.key, $3::uuid, $4, $5, $6, $7, $8) as allowance
    where not $9::boolean or (file."bucketState" = 'open' and file."entryState" = 'pending')
  ), expired as (
    delete from reservation where id in (
      select reservation.id from reservation join allowance
        on reservation.entity_id = $1 or reservation.owner_id = allowance.owner_id
      where reservation.expires_at <= $8 and reservation.id <> $3 limit 100
      for update of reservation skip locked)
  ), reserved as (
    insert into reservation (id, entity_id, owner_id, bytes, expires_at)
    select $3, $1, owner_id, granted, $10::timestamptz from allowance where granted is not null
    on conflict (id) do update set bytes = excluded.bytes, expires_at = excluded.expires_at
  )
  select file.*, ${ALLOWANCE}, set_config('synchronous_commit', 'off', true) as commit
  from file left join allowance on true`;

/** A resumable upload into a file. */
type UploadRef = FileRef & { id: string; ownerId: string | null };

/**
 * Reserves the length of a resumable upload, in the transaction of `save`, until it is finished, expires or is deleted.
 * @param lengthBytes null if it is declared later; until then `reserveMore` reserves step by step
 * @throws ServiceError `too_large` as `grantedOrThrow` does
 */
export async function reserveForUpload<Result>(
  deps: FilesContext,
  upload: UploadRef & { lengthBytes: number | null },
  save: (tx: Sql) => Promise<Result>,
): Promise<Result> {
  const needed = upload.lengthBytes ?? 0;
  return ownerTransaction(deps, upload, async (tx) => {
    const saved = await save(tx);
    await callGrantBytes(tx, deps, { ...upload, needed, requested: needed });
    return saved;
  });
}

/**
 * Reserves bytes for an upload of unknown length, of which `needed` bytes have arrived: these, and more if available.
 * @returns the number of reserved bytes
 * @throws ServiceError `too_large` as `grantedOrThrow` does
 */
export async function reserveMore(deps: FilesContext, upload: UploadRef, needed: number): Promise<number> {
  return ownerTransaction(deps, upload, async (tx) => {
    await tx.$queryRawUnsafe('select from upload where id = $1 for update', upload.id);
    const requested = Math.max(needed, Math.min(needed + STEP_BYTES, deps.maxFileBytes));
    const reserved = await callGrantBytes(tx, deps, { ...upload, needed, requested });
    await tx.$executeRawUnsafe('update upload set reserved = $2 where id = $1', upload.id, reserved);
    return reserved;
  });
}

async function callGrantBytes(tx: Sql, deps: FilesContext, request: BytesRequest): Promise<number> {
  const [allowance] = await tx.$queryRawUnsafe<[Allowance]>(
    `select ${ALLOWANCE} from grant_bytes($1, $2, $3, $4, $5, $6, $7, $8)`,
    ...allowanceValues(deps, request),
  );
  return grantedOrThrow(tx, deps, allowance, request);
}

/** In a transaction that begins when no other upload of the owner waits in this process. */
function ownerTransaction<Result>(
  { database, quotaMutex }: FilesContext,
  { entityId, ownerId }: UploadRef,
  run: (tx: Sql) => Promise<Result>,
): Promise<Result> {
  return quotaMutex(ownerId ?? entityId, () => database.$transaction(run));
}
