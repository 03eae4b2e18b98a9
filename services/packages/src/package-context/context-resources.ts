import { allows } from '@kr/access-policy';
import { type Principal, servicePrincipal } from '@kr/caller';
import type {
  AssociateRequest__Output,
  AssociateResponse,
  DissociateRequest__Output,
  DissociateResponse,
  ListContextResourcesRequest__Output,
  ListContextResourcesResponse,
} from '@kr/contracts';
import {
  assertAllowedOn,
  assertParentsUnlocked,
  type Entity,
  getEntity,
  notFound,
} from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { changeResourcesWhenUnlocked } from '../resources/change-resources.ts';
import { readIds } from '../resources/request-body.ts';
import { openVersionId, ownerOf } from '../store/resource-store.ts';

/**
 * Any version of a package whose context the caller may manage; it needs no draft.
 *
 * @throws ServiceError `not_found` or `forbidden`
 */
export async function managedPackage(
  context: PackagesContext,
  packageId: string,
  principal: Principal,
): Promise<Entity> {
  const entity = await getEntity(context, packageId);
  const content = entity.draft ?? entity.published;
  if (content === null) throw notFound();
  assertAllowedOn(principal, 'manage_context', entity, content, context.now());
  return entity;
}

/**
 * RPC Associate: all or none. The records service decides about each resource: it holds that side.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, or one of the resources does not exist
 *   - `forbidden`: the caller may not manage the context, or not manage one of the resources
 *   - `invalid`: see `readIds`, or a resource that is published or managed by another package
 *   - `conflict` (`draft_locked`): the package or a resource is being published
 */
export function associate(context: PackagesContext) {
  return async (
    { packageId, body }: AssociateRequest__Output,
    { principal }: CallContext,
  ): Promise<AssociateResponse> => {
    const { parent } = await managedPackage(context, packageId, principal);
    const ids = readIds(body, 'records');
    await assertParentsUnlocked(context.database, [parent.id]);
    const request = { packageParentId: parent.id, packageId, ids: [...new Set(ids)] };
    await context.records.associateRecords(request, principal);
    // If the package was deleted meanwhile, its resources were released before these were added, and no later
    // event would release them.
    if ((await ownerOf(context.database, parent.id)) === undefined) {
      await context.records.dissociateRecords(request, servicePrincipal('packages', principal.requestId));
      throw notFound();
    }
    return {};
  };
}

/**
 * RPC Dissociate: removes resources from the context first, then from the package's draft version, whichever
 * version of a resource it contains. Published resources that were not in the context stay. A publication
 * that began between the two cannot succeed, so this waits for its end. A partial failure is repaired by
 * repeating the call: removing twice is no error.
 *
 * @throws ServiceError - `not_found`: no such package, or one of the resources does not exist - `forbidden`:
 * the caller may not manage the context - `invalid`: see `readIds` - `conflict` (`draft_locked`): the
 * package or a resource is being published
 */
export function dissociate(context: PackagesContext) {
  return async (
    { packageId, body }: DissociateRequest__Output,
    { principal }: CallContext,
  ): Promise<DissociateResponse> => {
    const { parent } = await managedPackage(context, packageId, principal);
    const ids = readIds(body, 'records');
    await assertParentsUnlocked(context.database, [parent.id]);
    const { leavingIds } = await context.records.dissociateRecords(
      { packageParentId: parent.id, packageId, ids: [...new Set(ids)] },
      principal,
    );
    if (leavingIds.length === 0) return {};
    const open = await openVersionId(context.database, parent.id);
    if (open !== undefined) {
      await changeResourcesWhenUnlocked(context, {
        packageId: open,
        principal,
        run: ({ resourceIds }) => ({
          ids: resourceIds.filter((id) => !leavingIds.includes(id)),
          result: undefined,
        }),
      });
    }
    return {};
  };
}

/**
 * RPC ListContextResources: the resources that the package manages, oldest first, as listed by the records service. Empty
 * for a caller who may not read the package's drafts.
 */
export function listContextResources({ records, database }: PackagesContext) {
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
    if (!allows(principal, 'read_draft', drafts)) return {};
    const self = servicePrincipal('packages', principal.requestId);
    const { ids, publishedIds } = await records.listManagedRecords({ packageParentId }, self);
    return { ids, publishedIds };
  };
}
