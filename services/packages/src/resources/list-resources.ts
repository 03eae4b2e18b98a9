import type { ListResourcesRequest__Output, ListResourcesResponse } from '@kr/contracts';
import type { PackagesContext } from '../context.ts';
import { resourcesAndOutbox } from '../store/resource-store.ts';

/** RPC ListResources: what the version holds, draft or published; none if there is no such version. */
export function listResources({ lifecycle }: Pick<PackagesContext, 'lifecycle'>) {
  return async ({ packageId }: ListResourcesRequest__Output): Promise<ListResourcesResponse> =>
    resourcesAndOutbox(lifecycle.database, packageId);
}
