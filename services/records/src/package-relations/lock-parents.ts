import { draftLocked, type Entity, loadEntities } from '@kr/draft-lifecycle';
import type { Tx } from '../store/prisma.ts';

/**
 * Holds what all versions of these records share, and each version of them, parents first as everybody does. Reads the
 * records as they are then.
 */
export async function lockParents(tx: Tx, ids: readonly string[]): Promise<Map<string, Entity>> {
  await tx.$queryRaw`
    select id from parent where id in (select parent_id from version where id = any(${ids}::text[]))
    order by id for update`;
  await tx.$queryRaw`
    select id from version where parent_id in (select parent_id from version where id = any(${ids}::text[]))
    order by id for update`;
  return loadEntities(tx, ids);
}

/** @throws ServiceError `conflict` (`draft_locked`): a version of one of these parents is being published */
export async function assertParentsUnlocked(tx: Tx, parentIds: readonly string[]): Promise<void> {
  const locked = await tx.draft.findFirst({
    where: { lockedBy: { not: null }, version: { parentId: { in: [...parentIds] } } },
    select: { id: true },
  });
  if (locked !== null) throw draftLocked();
}
