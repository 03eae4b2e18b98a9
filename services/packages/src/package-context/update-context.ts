import { auditEntry } from '@kr/audit-trail';
import type { UpdateContextRequest__Output, UpdateContextResponse } from '@kr/contracts';
import { assertParentsUnlocked } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { saveContext } from '../store/context-store.ts';
import { managedPackage } from './context-resources.ts';

const POLICIES = ['open', 'closed'];

/**
 * RPC UpdateContext.
 *
 * @throws ServiceError
 *   - `not_found`: no such package
 *   - `forbidden`: the caller may not manage the context
 *   - `invalid`: a policy other than `open` and `closed`
 *   - `conflict` (`draft_locked`): the package is being published
 */
export function updateContext(context: PackagesContext) {
  return async (
    { packageId, recordPolicy }: UpdateContextRequest__Output,
    { principal }: CallContext,
  ): Promise<UpdateContextResponse> => {
    const { parent } = await managedPackage(context, packageId, principal);
    if (!POLICIES.includes(recordPolicy)) {
      throw new ServiceError('invalid', 'A validation error occurred.', {
        issues: [{ field: 'access.record_policy', messages: [`Must be one of: ${POLICIES.join(', ')}.`] }],
      });
    }
    await assertParentsUnlocked(context.database, [parent.id]);
    const entry = auditEntry(
      principal,
      'context.update',
      { id: packageId, parentId: parent.id },
      { record_policy: recordPolicy },
    );
    await saveContext(context.database, { parentId: parent.id, recordPolicy }, entry);
    return {};
  };
}
