import type { DecidePublicationRequest__Output, DecidePublicationResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { applyDecision } from './apply-decision.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { assertService } from './permission.ts';

/**
 * RPC DecidePublication: shows what was staged, or drops it; any number of times.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is no service
 *   - `internal`: this service never agreed to what is committed, or has shown what is aborted
 */
export function decidePublication<Tx extends LifecycleSql>(context: LifecycleContext<Tx>) {
  return async (
    { publicationId, isCommitted }: DecidePublicationRequest__Output,
    { principal }: CallContext,
  ): Promise<DecidePublicationResponse> => {
    assertService(principal);
    await applyDecision(context, publicationId, isCommitted);
    return {};
  };
}
