import type { Tx } from './prisma.ts';

/** Lets a package manage these parents, which are locked. */
export async function beginManagement(
  tx: Tx,
  parentIds: readonly string[],
  packageParentId: string,
  at: Date,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `update parent set managed_by = $2, managed_at = $3::timestamptz, was_managed = true
     where id = any($1::text[])`,
    parentIds,
    packageParentId,
    at.toISOString(),
  );
}

/** Lets these parents, which are locked, stand by themselves. */
export async function endManagement(tx: Tx, parentIds: readonly string[]): Promise<void> {
  await tx.$executeRawUnsafe(
    'update parent set managed_by = null, managed_at = null where id = any($1::text[])',
    parentIds,
  );
}

/** The versions of these parents, drafts included. */
export function versionsOf(tx: Tx, parentIds: readonly string[]): Promise<{ id: string }[]> {
  return tx.$queryRawUnsafe('select id from version where parent_id = any($1::text[])', parentIds);
}
