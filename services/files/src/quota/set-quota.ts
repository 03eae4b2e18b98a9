import type { SetQuotaRequest__Output, SetQuotaResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { MOST_BYTES } from '../config.ts';
import { invalidField } from '../file-errors.ts';
import { requireOperator } from '../require-operator.ts';
import { checkUserId } from './check-user-id.ts';
import { findUserQuota, saveUserLimit, type UserQuotaDeps } from './user-quota.ts';

/**
 * RPC SetQuota. Below what is used it takes nothing away, but lets nothing more in.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is neither a service nor an operator
 *   - `invalid`: no user can have that id, or nobody that limit
 */
export function setQuota(deps: UserQuotaDeps) {
  return async (
    { userId, isDefault, limitBytes }: SetQuotaRequest__Output,
    { principal }: CallContext,
  ): Promise<SetQuotaResponse> => {
    requireOperator(principal);
    checkUserId(userId);
    const bytes = Number(limitBytes);
    if (bytes < 0 || bytes > MOST_BYTES)
      throw invalidField('limit_bytes', `It is from 0 to ${MOST_BYTES} bytes.`);
    await saveUserLimit(deps, userId, isDefault ? null : bytes);
    return { quota: await findUserQuota(deps, userId) };
  };
}
