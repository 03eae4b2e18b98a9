import { draftLocked, type Entity, loadEntities } from '@kr/draft-lifecycle';
import type { Tx } from '../store/prisma.ts';

/**
 * Holds what all versions of these records share, and each version of them, parents first as everybody does. Reads the
 * records as they are then.
 */
export async function lockParents(tx: Tx, ids: readonly string[]): Promise<Map<string, Entity>> {
  await tx.$queryRawUnsafe(
    `select id from parent where id in (select parent_id from version where id = any($1::text[]))
     order by id for update`,
    ids,
  );
  await tx.$queryRawUnsafe(
    `select id from version where parent_id in (select parent_id from version where id = any($1::text[]))
     order by id for update`,
    ids,
  );
  return loadEntities(tx, ids);
}

/** @throws ServiceError `conflict` (`draft_locked`): a version of one of these parents is being published */
export async function assertParentsUnlocked(tx: Tx, parentIds: readonly string[]): Promise<void> {
  const locked = await tx.$queryRawUnsafe<object[]>(
    `select from draft d join version v on v.id = d.id
     where v.parent_id = any($1::text[]) and d.locked_by is not null limit 1`,
    parentIds,
  );
  if (locked.length > 0) throw draftLocked();
}
