import type {
  ListResourcesRequest__Output,
  ListResourcesResponse,
  ListVersionResourcesRequest__Output,
  ListVersionResourcesResponse,
  VersionResources,
} from '@kr/contracts';
import {
  assertService,
  isAllowedOn,
  type LifecycleContext,
  listVersionIds,
  loadEntities,
  removedError,
} from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { resourceIdsOfEach, resourcesAndAccess } from '../store/resource-store.ts';
import { versionUpdate } from './version-update.ts';

/**
 * RPC ListResources: the resources of the version, draft or published. Empty if there is no such version, or
 * if the caller may read neither its published form nor its draft.
 *
 * @throws ServiceError `gone`: the published version is removed
 */
export function listResources({ database, now }: LifecycleContext) {
  return async (
    { packageId, asDraft }: ListResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<ListResourcesResponse> => {
    const { ids, version } = await resourcesAndAccess(database, packageId);
    if (version === null) return {};
    if (!asDraft && version.removal !== null) throw removedError(version.removal);
    const isPublished = version.isPublished && isAllowedOn(principal, 'read', version, version, now());
    const isListed = isPublished || isAllowedOn(principal, 'read_draft', version, version, now());
    return { ids: isListed ? ids : [], isPublished };
  };
}

/** A version may have 10,000 resources. */
const PAGE = 20;

/** RPC ListVersionResources. @throws ServiceError `forbidden`: the caller is no service */
export function listVersionResources({ database, now }: LifecycleContext) {
  return async (
    { afterId }: ListVersionResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<ListVersionResourcesResponse> => {
    assertService(principal);
    const page = await listVersionIds(database, afterId, PAGE);
    // Before their lists: a list may be newer than its revision, but not older.
    const entities = await loadEntities(database, page);
    const lists = await resourceIdsOfEach(database, page);
    const versions = [...entities.values()].flatMap((entity): VersionResources[] => {
      const ids = lists.get(entity.id) ?? [];
      const { id, parent, published, draft } = entity;
      if (published === null) return draft === null ? [] : [versionUpdate({ ...entity, draft }, ids, now())];
      return [{ packageId: id, packageParentId: parent.id, isPublished: true, ids }];
    });
    return { versions, lastId: page.at(-1) ?? '' };
  };
}
