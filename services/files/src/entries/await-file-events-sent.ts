import type { AwaitFileEventsSentRequest__Output, AwaitFileEventsSentResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { FilesContext } from '../context.ts';

/** So that the answer is there before the caller stops waiting for it. */
const ANSWER_MS = 50;

/** FilesService.AwaitFileEventsSent. */
export function awaitFileEventsSent({ eventsSent, now }: Pick<FilesContext, 'eventsSent' | 'now'>) {
  return async (
    _request: AwaitFileEventsSentRequest__Output,
    { deadline, signal }: Pick<CallContext, 'deadline' | 'signal'>,
  ): Promise<AwaitFileEventsSentResponse> => {
    const timeoutMs = deadline.getTime() - now().getTime() - ANSWER_MS;
    return { areSent: await eventsSent({ timeoutMs, signal }) };
  };
}
