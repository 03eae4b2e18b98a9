import { auditEntry } from '@kr/audit-trail';
import type { UpdateContextRequest__Output, UpdateContextResponse } from '@kr/contracts';
import { assertParentsUnlocked } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';
import { readPolicy } from '../resources/request-body.ts';
import { saveContext } from '../store/context-store.ts';
import { managedPackage } from './context-resources.ts';

/**
 * RPC UpdateContext.
 *
 * @throws ServiceError
 *   - `not_found`: no such package
 *   - `forbidden`: the caller may not manage the context
 *   - `invalid`: see `readPolicy`
 *   - `conflict` (`draft_locked`): the package is being published
 */
export function updateContext(context: PackagesContext) {
  return async (
    { packageId, body }: UpdateContextRequest__Output,
    { principal }: CallContext,
  ): Promise<UpdateContextResponse> => {
    const { parent } = await managedPackage(context, packageId, principal);
    const recordPolicy = readPolicy(body);
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
