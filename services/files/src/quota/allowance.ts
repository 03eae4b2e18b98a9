import { entityQuotaExceeded, userQuotaExceeded } from '../file-errors.ts';
import type { Usage } from './quota-store.ts';

export interface QuotaLimits {
  maxBytesPerEntity: number;
  maxBytesPerUser: number;
}

/**
 * How many bytes an upload may be promised: at best as many as are wanted, and not fewer than are needed.
 *
 * @throws ServiceError `too_large` (`entity_quota_exceeded`, `user_quota_exceeded`)
 */
export function allowance(
  { maxBytesPerEntity, maxBytesPerUser }: QuotaLimits,
  { entityBytes, userBytes, userLimitBytes }: Usage,
  { needed, wanted }: { needed: number; wanted: number },
): number {
  const leftOfEntity = Math.max(0, maxBytesPerEntity - entityBytes);
  const userLimit = userLimitBytes ?? maxBytesPerUser;
  const leftOfUser = Math.max(0, userLimit - userBytes);
  if (needed > leftOfEntity) throw entityQuotaExceeded(maxBytesPerEntity, leftOfEntity);
  if (needed > leftOfUser) throw userQuotaExceeded(userLimit, leftOfUser);
  return Math.min(wanted, leftOfEntity, leftOfUser);
}
