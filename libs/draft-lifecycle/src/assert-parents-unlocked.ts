import type { Sql } from '@kr/database';
import { draftLocked } from './lock-rules.ts';

/**
 * For changes of state shared by all versions of a parent: rejects them while one version is being published.
 * In a transaction that locks the versions the result is valid until its end; otherwise a publication that
 * begins later waits for the locks.
 *
 * @throws ServiceError `conflict` (`draft_locked`)
 */
export async function assertParentsUnlocked(sql: Sql, parentIds: readonly string[]): Promise<void> {
  const locked = await sql.$queryRawUnsafe<object[]>(
    `select from draft d join version v on v.id = d.id
     where v.parent_id = any($1::text[]) and d.locked_by is not null limit 1`,
    parentIds,
  );
  if (locked.length > 0) throw draftLocked();
}
