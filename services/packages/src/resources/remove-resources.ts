import type { RemoveResourcesRequest__Output, RemoveResourcesResponse } from '@kr/contracts';
import { draftForChange } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { resourceIdsOf } from '../store/resource-store.ts';
import { changeResources } from './change-resources.ts';
import { checkIds } from './check-ids.ts';
import { describeResources } from './describe-resources.ts';
import { judgeRemovals } from './resource-rules.ts';

/**
 * RPC RemoveResources: the good ones are taken out even if others are refused; those are named. A resource stays in
 * the context.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, no draft of it, or one of the resources neither exists nor is in it
 *   - `unauthenticated`, `forbidden`: the caller may not change the draft, or not read a resource that is not in it
 *   - `invalid`: not 1 to 100 ids
 *   - `conflict` (`draft_locked`): the package is being published
 */
export function removeResources(context: PackagesContext) {
  return async (
    { packageId, ids }: RemoveResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<RemoveResourcesResponse> => {
    await draftForChange(context.lifecycle, { id: packageId, action: 'manage_resources', principal });
    checkIds(ids, 'resources');
    const held = await resourceIdsOf(context.database, packageId);
    const resources = await describeResources(context, ids, held, principal);
    return changeResources(context, {
      packageId,
      principal,
      run: (holder) => {
        const { accepted, errors } = judgeRemovals(holder, resources);
        const kept = holder.resourceIds.filter((id) => !accepted.includes(id));
        return { ids: kept, result: { errors: [...errors] } };
      },
    });
  };
}
