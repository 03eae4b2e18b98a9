import type { Database } from '../store/prisma.ts';

/**
 * The publication of a retrying caller: the last committed one of an entity without a draft, if
 * that caller requested it. Its response was lost, not its work.
 */
export async function findRepeat(
  database: Database,
  entityId: string,
  requestedBy: string,
): Promise<string | undefined> {
  const last = await database.publication.findFirst({
    where: { entityId, state: { in: ['COMMITTED', 'DONE'] } },
    orderBy: { createdAt: 'desc' },
    select: { id: true, requestedBy: true },
  });
  return last?.requestedBy === requestedBy ? last.id : undefined;
}
