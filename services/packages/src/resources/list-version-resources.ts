import type { ListVersionResourcesRequest__Output, ListVersionResourcesResponse } from '@kr/contracts';
import { assertService, loadEntities } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { resourceIdsOfEach, versionIds } from '../store/resource-store.ts';
import { restrictionFor } from './package-access.ts';

/** A version may have 10,000 resources. */
const PAGE = 20;

/** RPC ListVersionResources. @throws ServiceError `forbidden`: the caller is no service */
export function listVersionResources({
  lifecycle: { database },
  now,
}: Pick<PackagesContext, 'lifecycle' | 'now'>) {
  return async (
    { afterId }: ListVersionResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<ListVersionResourcesResponse> => {
    assertService(principal);
    const page = await versionIds(database, afterId, PAGE);
    // Before their lists: a list may be newer than its revision, but not older.
    const entities = await loadEntities(database, page);
    const lists = await resourceIdsOfEach(database, page);
    const versions = [...entities.values()].flatMap(({ id, parent, draft, published }) => {
      const isPublished = published !== null;
      if (!isPublished && draft === null) return [];
      const ids = lists.get(id) ?? [];
      const revision = isPublished || draft === null ? 0 : draft.revision;
      const restriction = isPublished || draft === null ? {} : restrictionFor(draft.document, ids, now());
      return [{ packageId: id, packageParentId: parent.id, revision, isPublished, ids, ...restriction }];
    });
    return { versions, lastId: page.at(-1) ?? '' };
  };
}
