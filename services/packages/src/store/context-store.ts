import { randomUUID } from 'node:crypto';
import { type AuditEntry, entryRows, insertEntries } from '@kr/audit-trail';
import type { Sql } from '@kr/database';

const SAVE = `
  with changed as (
    insert into package_context as known (parent_id, record_policy) values ($1, $2)
    on conflict (parent_id) do update set record_policy = excluded.record_policy
      where known.record_policy <> excluded.record_policy
    returning parent_id
  )
  ${insertEntries('$3', 'changed')}`;

/** Saves the settings of a package, with the entry of it; neither when they are that already. */
export async function saveContext(
  sql: Sql,
  { parentId, recordPolicy }: { parentId: string; recordPolicy: string },
  entry: AuditEntry,
): Promise<void> {
  await sql.$executeRawUnsafe(SAVE, parentId, recordPolicy, entryRows([entry]));
}

/** Notes that a save may restrict a package. @returns the attempt, to be removed when its drafts are closed */
export async function addPendingRestriction(sql: Sql, packageId: string): Promise<string> {
  const attempt = randomUUID();
  await sql.$executeRawUnsafe(
    'insert into pending_restriction (package_id, attempt) values ($1, $2::uuid)',
    packageId,
    attempt,
  );
  return attempt;
}

export interface PendingRestriction {
  packageId: string;
  attempt: string;
  /** Whether its save has ended by now, however it ended. */
  isOver: boolean;
}

/** No save of a draft takes as long. */
const LONGEST_SAVE_SECONDS = 120;

/** The attempts for these packages. */
export async function pendingRestrictions(
  sql: Sql,
  packageIds: readonly string[],
): Promise<PendingRestriction[]> {
  return sql.$queryRawUnsafe(
    `select package_id as "packageId", attempt::text, created_at < now() - make_interval(secs => $2) as "isOver"
     from pending_restriction where package_id = any($1::text[])`,
    packageIds,
    LONGEST_SAVE_SECONDS,
  );
}

/** Packages of which a save is pending: few. */
export async function packagesWithPendingRestrictions(sql: Sql): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ package_id: string }[]>(
    'select distinct package_id from pending_restriction',
  );
  return rows.map(({ package_id }) => package_id);
}

export async function removePendingRestrictions(sql: Sql, attempts: readonly string[]): Promise<void> {
  if (attempts.length === 0) return;
  await sql.$executeRawUnsafe('delete from pending_restriction where attempt = any($1::uuid[])', attempts);
}
