import type { ListResourcesRequest__Output, ListResourcesResponse } from '@kr/contracts';
import { may, removedError } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { resourcesAndOutbox } from '../store/resource-store.ts';

/**
 * RPC ListResources: the resources of the version, draft or published. Empty if there is no such version, or
 * if the caller may read neither its published form nor its draft.
 *
 * @throws ServiceError `gone`: the published version is removed
 */
export function listResources({ lifecycle: { database, now } }: Pick<PackagesContext, 'lifecycle'>) {
  return async (
    { packageId, asDraft }: ListResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<ListResourcesResponse> => {
    const { ids, hasUnsent, version } = await resourcesAndOutbox(database, packageId);
    if (version === null) return { hasUnsent };
    if (!asDraft && version.removal !== null) throw removedError(version.removal);
    const isPublished = version.isPublished && may(principal, 'read', version, version, now());
    const isListed = isPublished || may(principal, 'read_draft', version, version, now());
    return { ids: isListed ? ids : [], hasUnsent, isPublished };
  };
}
