import type { ReadQuotaRequest__Output, ReadQuotaResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { requireOperator } from '../require-operator.ts';
import { checkUserId } from './check-user-id.ts';
import { findUserQuota, type UserQuotaDeps } from './user-quota.ts';

/**
 * RPC ReadQuota. A user without files uses nothing; who they are, this service does not know.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is neither a service nor an operator
 *   - `invalid`: no user can have that id
 */
export function readQuota(deps: UserQuotaDeps) {
  return async (
    { userId }: ReadQuotaRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadQuotaResponse> => {
    requireOperator(principal);
    checkUserId(userId);
    return { quota: await findUserQuota(deps, userId) };
  };
}
