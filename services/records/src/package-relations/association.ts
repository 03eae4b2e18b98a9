import { appendAudited } from '@kr/audit-trail';
import type {
  AssociateRecordsRequest__Output,
  AssociateRecordsResponse,
  DissociateRecordsRequest__Output,
  DissociateRecordsResponse,
} from '@kr/contracts';
import {
  assertParentsUnlocked,
  bumpRevisions,
  type Entity,
  findEntities,
  isAllowedOn,
  type LifecycleContext,
  notFoundErrors,
  transact,
} from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { type Issue, ServiceError } from '@kr/service-error';
import { beginManagement, endManagement, versionsOf } from '../store/management-store.ts';
import { isReadable } from './describe-records.ts';
import { lockParents, managementEntries, onePerParent } from './managed-records.ts';

/**
 * Why a resource cannot be added to a package's context: it must be a draft that no other package manages
 * (our decision).
 */
function associationIssues(
  ids: readonly string[],
  entities: ReadonlyMap<string, Entity>,
  packageParentId: string,
): Issue[] {
  return ids.flatMap((id, position) => {
    const message = problemOf(entities.get(id), packageParentId);
    return message === undefined
      ? []
      : [{ field: `records.${position}.id`, messages: [message], record: id }];
  });
}

function problemOf(entity: Entity | undefined, packageParentId: string): string | undefined {
  if (entity === undefined) return 'The persistent identifier does not exist.';
  const { managedBy } = entity.parent;
  if (managedBy === packageParentId) return undefined;
  if (managedBy !== null) return 'Record already associated with a package.';
  return entity.published === null ? undefined : 'Only drafts can be associated with a package.';
}

/**
 * RPC AssociateRecords: all or none. The packages service has checked the right on the package; this checks the right on
 * each resource. May be repeated.
 *
 * @throws ServiceError, the first that applies
 *   - `not_found`: a resource does not exist
 *   - `forbidden`: the caller may not manage a resource; one issue for each
 *   - `invalid`: a resource is published, or managed by another package; one issue for each
 *   - `conflict` (`draft_locked`): a version of a resource is being published
 */
export function associateRecords(context: LifecycleContext) {
  return async (
    { packageParentId, ids, packageId }: AssociateRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<AssociateRecordsResponse> => {
    const entities = await findEntities(context, ids);
    const missing = ids.filter((id) => !entities.has(id));
    const [first] = missing;
    if (first !== undefined) throw (await notFoundErrors(context, missing))(first);

    const now = context.now();
    const refused = ids.filter((id) => {
      const entity = entities.get(id);
      const content = entity?.draft ?? entity?.published;
      return (
        entity === undefined || content == null || !isAllowedOn(principal, 'associate', entity, content, now)
      );
    });
    if (refused.length > 0) throw forbidden(ids, refused);

    await transact(context, async (tx) => {
      const records = await lockParents(tx, ids);
      const issues = associationIssues(ids, records, packageParentId);
      if (issues.length > 0) {
        throw new ServiceError('invalid', 'A validation error occurred.', { issues });
      }
      const joining = [...records.values()].filter(({ parent }) => parent.managedBy === null);
      const managed = onePerParent(joining);
      const parentIds = managed.map(({ parentId }) => parentId);
      if (parentIds.length === 0) return;
      await assertParentsUnlocked(tx, parentIds);
      await beginManagement(tx, parentIds, packageParentId, now);
      await bumpRevisions(context, tx, parentIds);
      const named = { packageParentId, packageId };
      await appendAudited(tx, [], managementEntries(principal, 'associate', named, managed));
    });
    return {};
  };
}

function forbidden(ids: readonly string[], refused: readonly string[]): ServiceError {
  const issues = refused.map((id) => ({
    field: `records.${ids.indexOf(id)}.id`,
    messages: ['Permission denied.'],
    record: id,
  }));
  return new ServiceError('forbidden', 'Permission denied.', { issues });
}

/**
 * RPC DissociateRecords: all or none. The packages service has checked the right on the package. A resource that the package does
 * not manage stays unchanged.
 *
 * @throws ServiceError
 *   - `not_found`: a resource does not exist, and the caller is a user
 *   - `forbidden`: the package does not manage a resource, and the caller may not even read it
 *   - `conflict` (`draft_locked`): a version of a resource is being published
 */
export function dissociateRecords(context: LifecycleContext) {
  return async (
    { packageParentId, ids, packageId }: DissociateRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<DissociateRecordsResponse> => {
    const entities = await findEntities(context, ids);
    const missing = ids.filter((id) => !entities.has(id));
    const [first] = missing;
    if (first !== undefined && principal.service === null) {
      throw (await notFoundErrors(context, missing))(first);
    }

    const now = context.now();
    const hidden = [...entities.values()].filter(
      (entity) => entity.parent.managedBy !== packageParentId && !isReadable(principal, entity, now),
    );
    if (hidden.length > 0) throw new ServiceError('forbidden', 'Permission denied.');

    const released = await transact(context, async (tx) => {
      const records = await lockParents(tx, ids);
      const leaving = [...records.values()].filter(({ parent }) => parent.managedBy === packageParentId);
      const unmanaged = onePerParent(leaving);
      const parentIds = unmanaged.map(({ parentId }) => parentId);
      if (parentIds.length === 0) return [];
      await assertParentsUnlocked(tx, parentIds);
      await endManagement(tx, parentIds);
      await bumpRevisions(context, tx, parentIds);
      const named = { packageParentId, packageId };
      await appendAudited(tx, [], managementEntries(principal, 'dissociate', named, unmanaged));
      return versionsOf(tx, parentIds);
    });
    // If an earlier call was interrupted, a released draft may still be locked.
    const drafts = [...entities.values()].filter(({ published }) => published === null);
    return { leavingIds: [...new Set([...released, ...drafts].map(({ id }) => id))] };
  };
}
