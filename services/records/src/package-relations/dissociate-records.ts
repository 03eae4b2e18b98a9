import { appendAudited } from '@kr/audit-trail';
import type { DissociateRecordsRequest__Output, DissociateRecordsResponse } from '@kr/contracts';
import { assertParentsUnlocked, findEntities, touchParents, transact, whyMissing } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { RecordsContext } from '../context.ts';
import { endManagement, versionsOf } from '../store/management-store.ts';
import { isReadable } from './is-readable.ts';
import { lockParents } from './lock-parents.ts';
import { managementEntries, onePerParent } from './management-entries.ts';

/**
 * RPC DissociateRecords: all or none. The right is that on the package, which its service has checked; a resource that
 * the package does not manage stays as it is.
 *
 * @throws ServiceError
 *   - `not_found`: a person names a resource that does not exist
 *   - `forbidden`: the package does not manage a resource, and the caller may not even read it
 *   - `conflict` (`draft_locked`): a version of a resource is being published
 */
export function dissociateRecords({ lifecycle }: Pick<RecordsContext, 'lifecycle'>) {
  return async (
    { packageParentId, ids, packageId }: DissociateRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<DissociateRecordsResponse> => {
    const entities = await findEntities(lifecycle, ids);
    const missing = ids.filter((id) => !entities.has(id));
    const [absent] = missing;
    if (absent !== undefined && principal.service === null) {
      throw (await whyMissing(lifecycle, missing))(absent);
    }

    const now = lifecycle.now();
    const hidden = [...entities.values()].filter(
      (entity) => entity.parent.managedBy !== packageParentId && !isReadable(principal, entity, now),
    );
    if (hidden.length > 0) throw new ServiceError('forbidden', 'Permission denied.');

    const released = await transact(lifecycle, async (tx) => {
      const held = await lockParents(tx, ids);
      const leaving = [...held.values()].filter(({ parent }) => parent.managedBy === packageParentId);
      const records = onePerParent(leaving);
      const parentIds = records.map(({ parentId }) => parentId);
      if (parentIds.length === 0) return [];
      await assertParentsUnlocked(tx, parentIds);
      await endManagement(tx, parentIds);
      await touchParents(lifecycle, tx, parentIds);
      const named = { packageParentId, packageId };
      await appendAudited(tx, [], managementEntries(principal, 'dissociate', named, records));
      return versionsOf(tx, parentIds);
    });
    // If an earlier call was interrupted, a released draft may still be locked.
    const drafts = [...entities.values()].filter(({ published }) => published === null);
    return { leavingIds: [...new Set([...released, ...drafts].map(({ id }) => id))] };
  };
}
