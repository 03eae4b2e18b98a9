import { allows } from '@kr/access-policy';
import { servicePrincipal } from '@kr/caller';
import type { ListContextResourcesRequest__Output, ListContextResourcesResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { ownerOf } from '../store/resource-store.ts';

/**
 * RPC ListContextResources: the resources that the package manages, oldest first, as listed by the records service. Empty
 * for a caller who may not read the package's drafts.
 */
export function listContextResources({
  records,
  lifecycle: { database },
}: Pick<PackagesContext, 'records' | 'lifecycle'>) {
  return async (
    { packageParentId }: ListContextResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<ListContextResourcesResponse> => {
    const ownerId = await ownerOf(database, packageParentId);
    const drafts = {
      parentId: packageParentId,
      ownerIds: ownerId === undefined ? [] : [ownerId],
      recordAccess: 'restricted',
      filesAccess: 'restricted',
    } as const;
    if (!allows(principal, 'read_draft', drafts)) return { hasUnsent: false };
    const self = servicePrincipal('packages', principal.requestId);
    const { ids, publishedIds, hasUnsent } = await records.listManagedRecords({ packageParentId }, self);
    return { ids, publishedIds, hasUnsent };
  };
}
