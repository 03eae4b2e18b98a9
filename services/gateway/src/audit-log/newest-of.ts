import type { AuditEntry__Output, AuditTrail__Output } from '@kr/contracts';

/**
 * The newest entries of several trails, each of which has its newest first and is at least that long if it has so many.
 * Of what happened in the same millisecond, the order of each trail stays.
 */
export function newestOf(
  trails: readonly Pick<AuditTrail__Output, 'entries'>[],
  limit: number,
): AuditEntry__Output[] {
  return trails
    .flatMap(({ entries }) => entries)
    .sort((a, b) => instantOf(b) - instantOf(a))
    .slice(0, limit);
}

/** Milliseconds since 1970. */
function instantOf({ createdAt }: AuditEntry__Output): number {
  return createdAt === null ? 0 : Number(createdAt.seconds) * 1_000 + createdAt.nanos / 1_000_000;
}
