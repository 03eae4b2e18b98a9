import type { DissociateRequest__Output, DissociateResponse } from '@kr/contracts';
import { assertParentsUnlocked } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { changeUnlockedResources } from '../resources/change-unlocked-resources.ts';
import { checkIds } from '../resources/check-ids.ts';
import { managedPackage } from './managed-package.ts';

/**
 * RPC Dissociate: removes resources from the context first, then from the package's draft version, whichever
 * version of a resource it contains. Published resources that were not in the context stay. A publication
 * that began between the two cannot succeed, so this waits for its end. A partial failure is repaired by
 * repeating the call: removing twice is no error.
 *
 * @throws ServiceError - `not_found`: no such package, or one of the resources does not exist - `forbidden`:
 * the caller may not manage the context - `invalid`: not 1 to 100 ids - `conflict` (`draft_locked`): the
 * package or a resource is being published
 */
export function dissociate(context: PackagesContext) {
  return async (
    { packageId, ids }: DissociateRequest__Output,
    { principal }: CallContext,
  ): Promise<DissociateResponse> => {
    const { parent } = await managedPackage(context, packageId, principal);
    checkIds(ids, 'records');
    await assertParentsUnlocked(context.lifecycle.database, [parent.id]);
    const { leavingIds } = await context.records.dissociateRecords(
      { packageParentId: parent.id, packageId, ids: [...new Set(ids)] },
      principal,
    );
    if (leavingIds.length === 0) return {};
    const open = await context.database.version.findMany({
      where: { parentId: parent.id, visible: false },
      select: { id: true },
    });
    for (const version of open) {
      await changeUnlockedResources(context, {
        packageId: version.id,
        principal,
        run: ({ resourceIds }) => ({
          ids: resourceIds.filter((id) => !leavingIds.includes(id)),
          result: undefined,
        }),
      });
    }
    return {};
  };
}
