import { entityQuotaExceeded, userQuotaExceeded } from '../file-errors.ts';
import { Prisma } from '../gen/prisma/client.ts';
import type { ContentPath } from '../http/content-path.ts';
import type { Tx } from '../store/prisma.ts';

export interface QuotaLimits {
  maxBytesPerEntity: number;
  maxBytesPerUser: number;
}

/** The upload of this id needs `needed` bytes and takes at most `wanted`. */
export interface BytesRequest extends ContentPath {
  id: string;
  needed: number;
  wanted: number;
}

/** How many bytes an upload may reserve, and what is left of the limits. */
export interface Allowance {
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
export function selectAllowance(
  { maxBytesPerEntity, maxBytesPerUser }: QuotaLimits,
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

export interface AllowanceDeps extends QuotaLimits {
  /** Milliseconds that replaced and deleted bytes stay stored, and count. */
  collectionGraceMs: number;
}

/** The granted bytes. @throws ServiceError `too_large` (`entity_quota_exceeded`, `user_quota_exceeded`) */
export async function grantedBytes(
  db: Tx,
  { collectionGraceMs, maxBytesPerEntity }: AllowanceDeps,
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

/** Unreferenced stored bytes of an owner, and when the first of them was found by a collection. */
async function findUnreferenced(
  db: Tx,
  ownerId: string | null,
): Promise<{ bytes: number; since: Date | null }> {
  const [row] = await db.$queryRaw<{ bytes: bigint; since: Date | null }[]>`
    select coalesce(sum(size), 0)::bigint as bytes, min(unreferenced_at) as since from object
    where owner_id = ${ownerId} and unreferenced_at is not null`;
  return { bytes: Number(row?.bytes ?? 0), since: row?.since ?? null };
}
