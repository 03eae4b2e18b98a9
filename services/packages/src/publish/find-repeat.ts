import type { Database } from '../store/prisma.ts';

/**
 * The publication that a caller who asks again means: the last one of an entity without a draft, if that caller asked
 * for it and it was committed. Its answer was lost, not its work.
 */
export async function findRepeat(
  database: Database,
  entityId: string,
  requestedBy: string,
): Promise<string | undefined> {
  const last = await database.publication.findFirst({
    where: { entityId },
    orderBy: { createdAt: 'desc' },
    select: { id: true, state: true, requestedBy: true },
  });
  const isCommitted = last?.state === 'COMMITTED' || last?.state === 'DONE';
  return isCommitted && last.requestedBy === requestedBy ? last.id : undefined;
}
