import type { AssociateRequest__Output, AssociateResponse } from '@kr/contracts';
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
 *   - `conflict` (`draft_locked`): a resource is being published
 */
export function associate(context: PackagesContext) {
  return async (
    { packageId, ids }: AssociateRequest__Output,
    { principal }: CallContext,
  ): Promise<AssociateResponse> => {
    const { parent } = await managedPackage(context, packageId, principal);
    checkIds(ids, 'records');
    await context.records.associateRecords({ packageParentId: parent.id, ids: [...new Set(ids)] }, principal);
    return {};
  };
}
