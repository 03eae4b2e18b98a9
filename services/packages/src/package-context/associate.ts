import { servicePrincipal } from '@kr/caller';
import type { AssociateRequest__Output, AssociateResponse } from '@kr/contracts';
import { assertParentsUnlocked, notFound } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { checkIds } from '../resources/check-ids.ts';
import { managedPackage } from './managed-package.ts';

/**
 * RPC Associate: all or none. The records service decides about each resource: it holds that side.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, or one of the resources does not exist
 *   - `forbidden`: the caller may not manage the context, or not manage one of the resources
 *   - `invalid`: not 1 to 100 ids, or a resource that is published or managed by another package
 *   - `conflict` (`draft_locked`): the package or a resource is being published
 */
export function associate(context: PackagesContext) {
  return async (
    { packageId, ids }: AssociateRequest__Output,
    { principal }: CallContext,
  ): Promise<AssociateResponse> => {
    const { parent } = await managedPackage(context, packageId, principal);
    checkIds(ids, 'records');
    await assertParentsUnlocked(context.lifecycle.database, [parent.id]);
    const request = { packageParentId: parent.id, packageId, ids: [...new Set(ids)] };
    await context.records.associateRecords(request, principal);
    // If the package was deleted meanwhile, its resources were released before these were added, and no later
    // event would release them.
    const isThere = await context.database.parent.findUnique({
      where: { id: parent.id },
      select: { id: true },
    });
    if (isThere === null) {
      await context.records.dissociateRecords(request, servicePrincipal('packages', principal.requestId));
      throw notFound();
    }
    return {};
  };
}
