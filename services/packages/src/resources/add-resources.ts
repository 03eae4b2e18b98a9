import type { AddResourcesRequest__Output, AddResourcesResponse } from '@kr/contracts';
import { draftForChange } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { changeResources } from './change-resources.ts';
import { checkIds } from './check-ids.ts';
import { describeResources } from './describe-resources.ts';
import { judgeAdditions } from './resource-rules.ts';

/**
 * RPC AddResources: the good ones are added even if others are refused; those are named.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, no draft of it, or one of the resources does not exist
 *   - `unauthenticated`, `forbidden`: the caller may not change the draft, or not read one of the resources
 *   - `invalid`: not 1 to 100 ids
 *   - `conflict` (`draft_locked`): the package is being published
 */
export function addResources(context: PackagesContext) {
  return async (
    { packageId, ids }: AddResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<AddResourcesResponse> => {
    await draftForChange(context.lifecycle, { id: packageId, action: 'manage_resources', principal });
    checkIds(ids, 'resources');
    const resources = await describeResources(context, ids, [], principal);
    return changeResources(context, {
      packageId,
      principal,
      run: (holder) => {
        const { accepted, errors } = judgeAdditions(holder, resources);
        return { ids: [...new Set([...holder.resourceIds, ...accepted])], result: { errors: [...errors] } };
      },
    });
  };
}
