import type { LifecycleSql } from './lifecycle-sql.ts';
import { draftLocked } from './lock-rules.ts';

/**
 * Whoever changes what all versions of a parent share learns whether one of them is being published. In the transaction
 * that holds the versions this is so until its end; without it, one that begins a moment later is met by the locks of
 * what it publishes.
 *
 * @throws ServiceError `conflict` (`draft_locked`)
 */
export async function assertParentsUnlocked(sql: LifecycleSql, parentIds: readonly string[]): Promise<void> {
  const locked = await sql.$queryRawUnsafe<object[]>(
    `select from draft d join version v on v.id = d.id
     where v.parent_id = any($1::text[]) and d.locked_by is not null limit 1`,
    parentIds,
  );
  if (locked.length > 0) throw draftLocked();
}
