import type { ImportResourcesRequest__Output, ImportResourcesResponse } from '@kr/contracts';
import { draftForChange, type Entity, getEntity, notFound, permit } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { resourceIdsOf } from '../store/resource-store.ts';
import { changeResources } from './change-resources.ts';
import { CANNOT_BE_ADDED } from './resource-rules.ts';

/**
 * RPC ImportResources: the draft gets what the published version before it holds. May be repeated.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, no draft of it, or no published version before it
 *   - `unauthenticated`, `forbidden`: the caller may not change the draft or not read the version before it
 *   - `invalid`: the version is published, so its resources are frozen
 *   - `conflict` (`draft_locked`): the package is being published
 */
export function importResources(context: PackagesContext) {
  return async (
    { packageId }: ImportResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<ImportResourcesResponse> => {
    const { entity } = await draftForChange(context.lifecycle, {
      id: packageId,
      action: 'manage_resources',
      principal,
    });
    const previous = await previousVersion(context, entity);
    permit(principal, 'read', previous, previous.published, context.now());

    const imported = await resourceIdsOf(context.database, previous.id);
    await changeResources(context, {
      packageId,
      principal,
      from: previous.id,
      run: ({ isFrozen, resourceIds }) => {
        if (isFrozen) throw new ServiceError('invalid', CANNOT_BE_ADDED);
        return { ids: [...new Set([...resourceIds, ...imported])], result: undefined };
      },
    });
    return {};
  };
}

async function previousVersion({ database, lifecycle }: PackagesContext, { parent, versionIndex }: Entity) {
  const previous = await database.version.findFirst({
    where: { parentId: parent.id, visible: true, versionIndex: { lt: versionIndex } },
    orderBy: { versionIndex: 'desc' },
    select: { id: true },
  });
  if (previous === null) throw notFound();
  const entity = await getEntity(lifecycle, previous.id);
  if (entity.published === null) throw notFound();
  return { ...entity, published: entity.published };
}
