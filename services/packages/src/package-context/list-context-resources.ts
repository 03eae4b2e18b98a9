import type { ListContextResourcesRequest__Output, ListContextResourcesResponse } from '@kr/contracts';
import type { PackagesContext } from '../context.ts';

/** RPC ListContextResources: the resources that the package manages, oldest first; the records service knows them. */
export function listContextResources({ records, self }: Pick<PackagesContext, 'records' | 'self'>) {
  return async ({
    packageParentId,
  }: ListContextResourcesRequest__Output): Promise<ListContextResourcesResponse> => {
    const { ids, publishedIds, hasUnsent } = await records.listManagedRecords({ packageParentId }, self);
    return { ids, publishedIds, hasUnsent };
  };
}
