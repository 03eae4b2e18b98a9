import { appendAudited } from '@kr/audit-trail';
import type { AssociateRecordsRequest__Output, AssociateRecordsResponse } from '@kr/contracts';
import {
  assertParentsUnlocked,
  findEntities,
  may,
  touchParents,
  transact,
  whyMissing,
} from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { RecordsContext } from '../context.ts';
import { beginManagement } from '../store/management-store.ts';
import { associationIssues } from './association-rules.ts';
import { lockParents } from './lock-parents.ts';
import { managementEntries, onePerParent } from './management-entries.ts';

/**
 * RPC AssociateRecords: all or none. The caller's right on the package is the packages service's to check; here it is
 * the right on each resource. Repeating is harmless.
 *
 * @throws ServiceError, the first that applies
 *   - `not_found`: a resource does not exist
 *   - `forbidden`: the caller may not manage a resource; one issue for each
 *   - `invalid`: a resource is published, or managed by another package; one issue for each
 *   - `conflict` (`draft_locked`): a version of a resource is being published
 */
export function associateRecords(context: Pick<RecordsContext, 'lifecycle'>) {
  const { lifecycle } = context;
  return async (
    { packageParentId, ids, packageId }: AssociateRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<AssociateRecordsResponse> => {
    const entities = await findEntities(lifecycle, ids);
    const missing = ids.filter((id) => !entities.has(id));
    const [absent] = missing;
    if (absent !== undefined) throw (await whyMissing(lifecycle, missing))(absent);

    const now = lifecycle.now();
    const refused = ids.filter((id) => {
      const entity = entities.get(id);
      const face = entity?.draft ?? entity?.published;
      return entity === undefined || face == null || !may(principal, 'associate', entity, face, now);
    });
    if (refused.length > 0) throw forbidden(ids, refused);

    await transact(lifecycle, async (tx) => {
      const held = await lockParents(tx, ids);
      const issues = associationIssues(ids, held, packageParentId);
      if (issues.length > 0) {
        throw new ServiceError('invalid', 'A validation error occurred.', { issues });
      }
      const joining = [...held.values()].filter(({ parent }) => parent.managedBy === null);
      const records = onePerParent(joining);
      const parentIds = records.map(({ parentId }) => parentId);
      if (parentIds.length === 0) return;
      await assertParentsUnlocked(tx, parentIds);
      await beginManagement(tx, parentIds, packageParentId, now);
      await touchParents(lifecycle, tx, parentIds);
      const named = { packageParentId, packageId };
      await appendAudited(tx, [], managementEntries(principal, 'associate', named, records));
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
