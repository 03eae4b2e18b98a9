import { entityQuotaExceeded, userQuotaExceeded } from '../file-errors.ts';
import type { ContentPath } from '../http/content-path.ts';
import type { Tx } from '../store/prisma.ts';
import { findUnreferenced, lockUsage, type Usage } from './quota-store.ts';

export interface QuotaLimits {
  maxBytesPerEntity: number;
  maxBytesPerUser: number;
}

export type Allowance = { bytes: number } | { limitBytes: number; leftBytes: number };

/**
 * How many bytes an upload may reserve: at most as many as it wants, not fewer than it needs.
 *
 * @throws ServiceError `too_large` (`entity_quota_exceeded`)
 */
function allowance(
  { maxBytesPerEntity, maxBytesPerUser }: QuotaLimits,
  { entityBytes, userBytes, userLimitBytes }: Usage,
  { needed, wanted }: { needed: number; wanted: number },
): Allowance {
  const leftOfEntity = Math.max(0, maxBytesPerEntity - entityBytes);
  const userLimit = userLimitBytes ?? maxBytesPerUser;
  const leftOfUser = Math.max(0, userLimit - userBytes);
  if (needed > leftOfEntity) throw entityQuotaExceeded(maxBytesPerEntity, leftOfEntity);
  if (needed > leftOfUser) return { limitBytes: userLimit, leftBytes: leftOfUser };
  return { bytes: Math.min(wanted, leftOfEntity, leftOfUser) };
}

export interface GrantBytesDeps extends QuotaLimits {
  now: () => Date;
  /** Milliseconds that replaced and deleted bytes stay stored, and count. */
  collectionGraceMs: number;
}

/**
 * Decides how many bytes the upload of this id may reserve: at most as many as it requests, not fewer than it needs. Until the
 * transaction ends, no other upload of the same owner gets any. Locks of entities precede it.
 * @throws ServiceError `too_large` (`entity_quota_exceeded`, `user_quota_exceeded`)
 */
export async function grantBytes(
  tx: Tx,
  { collectionGraceMs, now, ...limits }: GrantBytesDeps,
  path: ContentPath & { ownerId: string | null },
  request: { id: string; needed: number; wanted: number },
): Promise<number> {
  const usage = await lockUsage(tx, path, { id: request.id, at: now() });
  const allowed = allowance(limits, usage, request);
  if ('bytes' in allowed) return allowed.bytes;
  const { bytes, since } = await findUnreferenced(tx, path.ownerId);
  throw userQuotaExceeded({
    ...allowed,
    unreferencedBytes: bytes,
    removedAfter: since === null ? null : new Date(since.getTime() + collectionGraceMs),
  });
}
