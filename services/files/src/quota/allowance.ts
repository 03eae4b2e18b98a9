import { entityQuotaExceeded } from '../file-errors.ts';
import type { Usage } from './quota-store.ts';

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
export function allowance(
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
