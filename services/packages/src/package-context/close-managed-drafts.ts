import { servicePrincipal } from '@kr/caller';
import { loadEntities } from '@kr/draft-lifecycle';
import type { PackagesContext } from '../context.ts';
import { restrictionFor } from '../resources/resource-rules.ts';
import {
  type PendingRestriction,
  pendingRestrictions,
  removePendingRestrictions,
} from '../store/context-store.ts';
import { resourceIdsOf } from '../store/resource-store.ts';

export type CloseContext = Pick<PackagesContext, 'database' | 'records' | 'now'>;

/**
 * Closes the drafts of restricted packages of which a save is pending, with the packages' resources and access as they are now.
 * Going back to public opens nothing, and the resources of a published version are published themselves. `ended` is the attempt
 * of the caller, whose save has ended.
 *
 * @throws ServiceError when a draft may still be open; the same call again tries again
 *   - `unavailable`: the records service was not reached
 *   - `conflict` (`draft_locked`): one of the drafts is being published
 */
export async function closeManagedDrafts(
  { database, records, now }: CloseContext,
  packageIds: readonly string[],
  requestId: string,
  ended?: PendingRestriction,
): Promise<void> {
  const stored = await pendingRestrictions(database, packageIds);
  const pending = ended === undefined ? stored : [...stored, ended];
  if (pending.length === 0) return;
  const closed = new Set<string>();
  const asked = [...new Set(pending.map(({ packageId }) => packageId))];
  for (const { id, parent, draft, published } of (await loadEntities(database, asked)).values()) {
    if (draft === null || published !== null) continue;
    const ids = await resourceIdsOf(database, id);
    const restriction = restrictionFor(draft.document, ids, now());
    if (restriction.restrictedIds.length === 0) continue;
    await records.setPackageResources(
      {
        packageId: id,
        packageParentId: parent.id,
        revision: draft.revision,
        ids,
        ...restriction,
        closesAnyway: true,
      },
      servicePrincipal('packages', requestId),
    );
    closed.add(id);
  }
  // A save that is still running may restrict the package after it was read here.
  const done = pending.filter(({ packageId, isOver }) => isOver || closed.has(packageId));
  await removePendingRestrictions(
    database,
    done.map(({ attempt }) => attempt),
  );
}
