import { type Entity, loadEntities, lockEntities } from '@kr/draft-lifecycle';
import type { Tx } from '../store/prisma.ts';

/**
 * Holds these records and what their versions share, parents first as everybody does, and reads them as they are then.
 */
export async function lockParents(tx: Tx, ids: readonly string[]): Promise<Map<string, Entity>> {
  await tx.$queryRaw`
    select id from parent where id in (select parent_id from version where id = any(${ids}::text[]))
    order by id for update`;
  await lockEntities(tx, ids);
  return loadEntities(tx, ids);
}
