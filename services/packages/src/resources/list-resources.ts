import type { ListResourcesRequest__Output, ListResourcesResponse } from '@kr/contracts';
import { may, removedError } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { parentOf, resourcesAndOutbox } from '../store/resource-store.ts';
import { mayListDrafts } from './may-list-drafts.ts';

/**
 * RPC ListResources: what the version holds, draft or published; none if there is no such version, or for who may not
 * list those of drafts.
 *
 * @throws ServiceError `gone`: the published version is removed
 */
export function listResources({ lifecycle: { database, now } }: Pick<PackagesContext, 'lifecycle'>) {
  return async (
    { packageId, asDraft }: ListResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<ListResourcesResponse> => {
    const { ids, hasUnsent, published } = await resourcesAndOutbox(database, packageId);
    if (!asDraft && published?.removal) throw removedError(published.removal);
    const isOpen = !asDraft || (await mayListDrafts(principal, () => parentOf(database, packageId)));
    const isPublished =
      published !== null && may(principal, 'read', published, { document: published }, now());
    return { ids: isOpen ? ids : [], hasUnsent, isPublished };
  };
}
