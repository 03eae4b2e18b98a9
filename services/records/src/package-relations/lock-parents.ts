import { type Entity, loadEntities } from '@kr/draft-lifecycle';
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
