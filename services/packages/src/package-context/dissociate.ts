import type { DissociateRequest__Output, DissociateResponse } from '@kr/contracts';
import { assertParentsUnlocked } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { changeUnlockedResources } from '../resources/change-unlocked-resources.ts';
import { checkIds } from '../resources/check-ids.ts';
import { managedPackage } from './managed-package.ts';

/**
 * RPC Dissociate: out of the context first, then out of the package's draft version, whichever version of a resource it
 * holds. What is published and was not in the context stays where it is. A publication that began between
 * the two cannot succeed any more, so its end is waited for. What fails halfway is mended by the same call: leaving
 * twice is no error.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, or one of the resources does not exist
 *   - `forbidden`: the caller may not manage the context
 *   - `invalid`: not 1 to 100 ids
 *   - `conflict` (`draft_locked`): the package or a resource is being published
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
