import type { DecidePublicationRequest__Output, DecidePublicationResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { applyDecision } from './apply-decision.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import { assertService } from './permission.ts';

/**
 * RPC DecidePublication: applies or drops the staged forms. Idempotent.
 *
 * @throws ServiceError - `forbidden`: the caller is no service - `internal`: this service never agreed to the
 * committed publication, or has applied the aborted one
 */
export function decidePublication(context: LifecycleContext) {
  return async (
    { publicationId, isCommitted }: DecidePublicationRequest__Output,
    { principal }: CallContext,
  ): Promise<DecidePublicationResponse> => {
    assertService(principal);
    await applyDecision(context, publicationId, isCommitted);
    return {};
  };
}
