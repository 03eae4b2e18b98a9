import { randomUUID } from 'node:crypto';
import type { LifecycleSql } from '@kr/draft-lifecycle';

/** Notes that a save may restrict a package. @returns the attempt, to be removed when its drafts are closed */
export async function addPendingRestriction(sql: LifecycleSql, packageId: string): Promise<string> {
  const attempt = randomUUID();
  await sql.$executeRawUnsafe(
    'insert into pending_restriction (package_id, attempt) values ($1, $2::uuid)',
    packageId,
    attempt,
  );
  return attempt;
}

/** The attempts for these packages. */
export async function pendingRestrictions(
  sql: LifecycleSql,
  packageIds: readonly string[],
): Promise<{ packageId: string; attempt: string }[]> {
  return sql.$queryRawUnsafe(
    'select package_id as "packageId", attempt::text from pending_restriction where package_id = any($1::text[])',
    packageIds,
  );
}

export async function removePendingRestrictions(
  sql: LifecycleSql,
  attempts: readonly string[],
): Promise<void> {
  if (attempts.length === 0) return;
  await sql.$executeRawUnsafe('delete from pending_restriction where attempt = any($1::uuid[])', attempts);
}
