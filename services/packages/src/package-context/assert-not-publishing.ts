import { draftLocked } from '@kr/draft-lifecycle';
import type { PackagesContext } from '../context.ts';

/**
 * Whoever changes a package's context learns at once that a version of it is being published, before anything was done
 * elsewhere. One that begins a moment later is met by the locks of what it publishes.
 *
 * @throws ServiceError `conflict` (`draft_locked`)
 */
export async function assertNotPublishing(
  { database }: Pick<PackagesContext, 'database'>,
  parentId: string,
): Promise<void> {
  const locked = await database.draft.findFirst({
    where: { lockedBy: { not: null }, version: { parentId } },
    select: { id: true },
  });
  if (locked !== null) throw draftLocked();
}
