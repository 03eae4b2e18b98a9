import type { ListResourcesRequest__Output, ListResourcesResponse } from '@kr/contracts';
import type { PackagesContext } from '../context.ts';
import { resourceIdsOf } from '../store/resource-store.ts';

/** RPC ListResources: what the version holds, draft or published; none if there is no such version. */
export function listResources({ database }: Pick<PackagesContext, 'database'>) {
  return async ({ packageId }: ListResourcesRequest__Output): Promise<ListResourcesResponse> => ({
    ids: await resourceIdsOf(database, packageId),
  });
}
