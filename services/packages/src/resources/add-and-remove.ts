import type { Principal } from '@kr/caller';
import type {
  AddResourcesRequest__Output,
  AddResourcesResponse,
  ImportResourcesRequest__Output,
  ImportResourcesResponse,
  RecordDescription__Output,
  RemoveResourcesRequest__Output,
  RemoveResourcesResponse,
} from '@kr/contracts';
import {
  assertAllowedOn,
  draftForChange,
  type Entity,
  findPreviousVersion,
  getEntity,
  loadEntities,
  notFound,
  notFoundErrors,
} from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { resourceIdsOf } from '../store/resource-store.ts';
import { changeResources } from './change-resources.ts';
import { readIds } from './request-body.ts';
import { CANNOT_BE_ADDED, judgeAdditions, judgeRemovals, type Resource } from './resource-rules.ts';

/**
 * The resources of these ids. Those already in the version need not be readable, or even exist.
 *
 * @throws ServiceError - `not_found`: one of the others does not exist - `forbidden`: the caller may not read
 * one of the others
 */
async function describeResources(
  context: PackagesContext,
  ids: readonly string[],
  present: readonly string[],
  principal: Principal,
): Promise<Resource[]> {
  const reply = await context.records.describeRecords({ ids: [...new Set(ids)] }, principal);
  const found = new Map(reply.records.map((record) => [record.id, record]));
  for (const id of ids) {
    if (present.includes(id)) continue;
    const record = found.get(id);
    if (record === undefined) throw await missing(context, id);
    if (!record.isReadable) throw new ServiceError('forbidden', 'Permission denied.');
  }
  return ids.map((id) => resourceOf(id, found.get(id)));
}

function resourceOf(id: string, record: RecordDescription__Output | undefined): Resource {
  return { id, isPublished: record?.isPublished ?? false, managedBy: record?.managedBy ?? '' };
}

/** The id of a package, or of a parent of either kind, is known but no resource. */
async function missing(context: PackagesContext, id: string): Promise<ServiceError> {
  const packages = await loadEntities(context.database, [id]);
  return packages.has(id) ? notFound() : (await notFoundErrors(context, [id]))(id);
}

/**
 * RPC AddResources: adds the valid resources and names the refused ones.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, no draft of it, or one of the resources does not exist
 *   - `unauthenticated`, `forbidden`: the caller may not change the draft, or not read one of the resources
 *   - `invalid`: see `readIds`
 *   - `conflict` (`draft_locked`): the package is being published
 */
export function addResources(context: PackagesContext) {
  return async (
    { packageId, body }: AddResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<AddResourcesResponse> => {
    await draftForChange(context, { id: packageId, action: 'manage_resources', principal });
    const ids = readIds(body, 'resources');
    const resources = await describeResources(context, ids, [], principal);
    return changeResources(context, {
      packageId,
      principal,
      run: (holder) => {
        const { accepted, errors } = judgeAdditions(holder, resources);
        return { ids: [...new Set([...holder.resourceIds, ...accepted])], result: { errors: [...errors] } };
      },
    });
  };
}

/**
 * RPC RemoveResources: removes the valid resources and names the refused ones. Resources stay in the context.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, no draft of it, or one of the resources neither exists nor is in it
 *   - `unauthenticated`, `forbidden`: the caller may not change the draft, or not read a resource that is not in it
 *   - `invalid`: see `readIds`
 *   - `conflict` (`draft_locked`): the package is being published
 */
export function removeResources(context: PackagesContext) {
  return async (
    { packageId, body }: RemoveResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<RemoveResourcesResponse> => {
    await draftForChange(context, { id: packageId, action: 'manage_resources', principal });
    const ids = readIds(body, 'resources');
    const present = await resourceIdsOf(context.database, packageId);
    const resources = await describeResources(context, ids, present, principal);
    return changeResources(context, {
      packageId,
      principal,
      run: (holder) => {
        const { accepted, errors } = judgeRemovals(holder, resources);
        const remaining = holder.resourceIds.filter((id) => !accepted.includes(id));
        return { ids: remaining, result: { errors: [...errors] } };
      },
    });
  };
}

/**
 * RPC ImportResources: adds the resources of the previous published version to the draft. May be repeated.
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
    const entity = await draftForChange(context, {
      id: packageId,
      action: 'manage_resources',
      principal,
    });
    const previous = await previousVersion(context, entity);
    assertAllowedOn(principal, 'read', previous, previous.published, context.now());

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

async function previousVersion(context: PackagesContext, { parent, versionIndex }: Entity) {
  const id = await findPreviousVersion(context.database, parent.id, versionIndex);
  if (id === undefined) throw notFound();
  const entity = await getEntity(context, id);
  if (entity.published === null) throw notFound();
  return { ...entity, published: entity.published };
}
