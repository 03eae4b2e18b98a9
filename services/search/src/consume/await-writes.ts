import type { AwaitIndexRequest__Output, AwaitIndexResponse } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import type { EntityKind } from '../documents/entity.ts';

export interface AwaitWritesDeps {
  /** For the service of each kind: whether all its events are in the stream, within milliseconds. */
  senders: Readonly<Record<EntityKind, (timeoutMs: number) => Promise<boolean>>>;
  consumer: Pick<Consumer, 'whenCaughtUp'>;
  /** @throws Error while the bus cannot be reached */
  checkBus: () => Promise<void>;
  /** The longest wait, in milliseconds; 0 waits for nothing. */
  timeoutMs: number;
  logger: Logger;
}

/**
 * Waits until the index contains everything that the services of these kinds committed before the call: their events are
 * in the stream, and the consumer has applied the stream up to its end. At most for some milliseconds, and never rejects: an outdated
 * index is better than none.
 */
export function awaitWrites(
  deps: AwaitWritesDeps,
): (kinds: readonly EntityKind[], withinMs: number) => Promise<void> {
  const { senders, consumer, checkBus, logger } = deps;
  const arrive = async (kinds: readonly EntityKind[], deadline: number): Promise<void> => {
    const leftMs = () => deadline - Date.now();
    // Without the bus nothing can arrive in time.
    await checkBus();
    // An unavailable service does not keep the events of the others back.
    await Promise.allSettled(kinds.map((kind) => senders[kind](leftMs())));
    await consumer.whenCaughtUp({ timeoutMs: leftMs() });
  };
  return async (kinds, withinMs) => {
    const timeoutMs = Math.min(deps.timeoutMs, withinMs);
    if (timeoutMs <= 0) return;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, timeoutMs);
    const arrival = arrive(kinds, Date.now() + timeoutMs).catch((error: unknown) =>
      logger.debug({ err: error }, 'a listing did not wait for the index any longer'),
    );
    await Promise.race([arrival, late.promise]);
    clearTimeout(timer);
  };
}

export interface AwaitIndexDeps extends Pick<AwaitWritesDeps, 'senders' | 'checkBus'> {
  consumer: Pick<Consumer, 'whenCaughtUp' | 'failing'>;
  now: () => Date;
  logger: Logger;
}

/** So that the answer is there before the caller stops waiting for it. */
const ANSWER_MS = 50;

/**
 * SearchService.AwaitIndex. Never rejects: the caller's change is done, and `pending` means only that the result is not known.
 * While an event waits for a retry, its entity is not known, so the result is not known either.
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
      logger.debug({ err: error }, 'it is not known whether the index is complete');
      return { isFound: false };
    } finally {
      clearTimeout(timer);
    }
  };
}
