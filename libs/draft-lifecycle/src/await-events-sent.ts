import type { AwaitEventsSentRequest__Output, AwaitEventsSentResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { LifecycleDeps } from './lifecycle-deps.ts';
import { assertService } from './permission.ts';

/** So that the answer is there before the caller stops waiting for it. */
const ANSWER_MS = 50;
const LONGEST_MS = 10_000;

/** RPC AwaitEventsSent. @throws ServiceError `forbidden` when the caller is no service */
export function awaitEventsSent({ eventsSent, now }: Pick<LifecycleDeps, 'eventsSent' | 'now'>) {
  return async (
    _request: AwaitEventsSentRequest__Output,
    { principal, deadline, signal }: CallContext,
  ): Promise<AwaitEventsSentResponse> => {
    assertService(principal);
    const timeoutMs = Math.min(LONGEST_MS, deadline.getTime() - now().getTime() - ANSWER_MS);
    return { areSent: await eventsSent({ timeoutMs, signal }) };
  };
}
