import type { AwaitIndexRequest__Output, AwaitIndexResponse } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import type { AwaitWritesDeps } from './await-writes.ts';

export interface AwaitIndexDeps extends Pick<AwaitWritesDeps, 'senders' | 'checkBus'> {
  consumer: Pick<Consumer, 'whenCaughtUp' | 'failing'>;
  now: () => Date;
  logger: Logger;
}

/** So that the answer is there before the caller stops waiting for it. */
const ANSWER_MS = 50;

/**
 * SearchService.AwaitIndex. Never rejects: who asks has changed something already, and is told only that it is not known.
 * While an event waits for its next try nobody knows whose it is, so then it is not known either.
 */
export function awaitIndex({ senders, consumer, checkBus, now, logger }: AwaitIndexDeps) {
  const areFound = async (endMs: number): Promise<boolean> => {
    const left = () => endMs - now().getTime();
    await checkBus();
    const areSent = await Promise.all(Object.values(senders).map((sent) => sent(left())));
    if (!areSent.every(Boolean)) return false;
    return (await consumer.whenCaughtUp({ timeoutMs: left() })) && consumer.failing() === 0;
  };
  return async (
    _request: AwaitIndexRequest__Output,
    { deadline }: Pick<CallContext, 'deadline'>,
  ): Promise<AwaitIndexResponse> => {
    const endMs = deadline.getTime() - ANSWER_MS;
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => late.resolve(false), Math.max(0, endMs - now().getTime()));
    try {
      return { isFound: await Promise.race([areFound(endMs), late.promise]) };
    } catch (error) {
      logger.debug({ err: error }, 'nobody knows whether the index is complete');
      return { isFound: false };
    } finally {
      clearTimeout(timer);
    }
  };
}
