import { servicePrincipal } from '@kr/caller';
import type { ListContextResourcesRequest__Output, ListContextResourcesResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { mayListDrafts } from '../resources/may-list-drafts.ts';

/**
 * RPC ListContextResources: the resources that the package manages, oldest first; the records service knows them. None
 * for who may not list them.
 */
export function listContextResources({ records }: Pick<PackagesContext, 'records'>) {
  return async (
    { packageParentId }: ListContextResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<ListContextResourcesResponse> => {
    if (!(await mayListDrafts(principal, async () => packageParentId))) return { hasUnsent: false };
    const self = servicePrincipal('packages', principal.requestId);
    const { ids, publishedIds, hasUnsent } = await records.listManagedRecords({ packageParentId }, self);
    return { ids, publishedIds, hasUnsent };
  };
}
