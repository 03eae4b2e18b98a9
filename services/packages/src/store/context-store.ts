import { type AuditEntry, entryRows, insertEntries } from '@kr/audit-trail';
import type { Sql } from '@kr/database';

const SAVE = `
  with changed as (
    insert into package_context as former (parent_id, record_policy) values ($1, $2)
    on conflict (parent_id) do update set record_policy = excluded.record_policy
      where former.record_policy <> excluded.record_policy
    returning parent_id
  )
  ${insertEntries('$3', 'changed')}`;

/** Saves the settings of a package with their audit entry; does nothing if they are unchanged. */
export async function saveContext(
  sql: Sql,
  { parentId, recordPolicy }: { parentId: string; recordPolicy: string },
  entry: AuditEntry,
): Promise<void> {
  await sql.$executeRawUnsafe(SAVE, parentId, recordPolicy, entryRows([entry]));
}
