import type { AwaitIndexRequest__Output, AwaitIndexResponse } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import { ENTITY_KINDS, type EntityKind } from '../documents/entity.ts';

export interface AwaitEventsDeps {
  /** For the service of each kind: whether all its events are in the stream, within milliseconds. */
  senders: Readonly<Record<EntityKind, (timeoutMs: number) => Promise<boolean>>>;
  consumer: Pick<Consumer, 'whenCaughtUp'>;
  /** @throws Error while the bus cannot be reached */
  checkBus: () => Promise<void>;
  logger: Logger;
}

/**
 * Whether the index has all events of changes that the services of these kinds committed before the call: the events
 * are in the stream, and the consumer has applied the stream up to its end. The services and the consumer observe the
 * timeout in milliseconds.
 * @throws the error of a service or of the consumer
 */
export function awaitEvents({ senders, consumer }: Pick<AwaitEventsDeps, 'senders' | 'consumer'>) {
  return async (timeoutMs: number, kinds: readonly EntityKind[] = ENTITY_KINDS): Promise<boolean> => {
    const endsAt = Date.now() + timeoutMs;
    const leftMs = () => endsAt - Date.now();
    // Events of the other services arrive although one is unavailable.
    const sent = await Promise.allSettled(kinds.map((kind) => senders[kind](leftMs())));
    const isCaughtUp = await consumer.whenCaughtUp({ timeoutMs: leftMs() });
    for (const result of sent) if (result.status === 'rejected') throw result.reason;
    return isCaughtUp && sent.every((result) => result.status === 'fulfilled' && result.value);
  };
}

/** As `awaitEvents`, but ends in time and never rejects: false also means an unknown result. */
function awaitEventsInTime(deps: AwaitEventsDeps) {
  const arrive = awaitEvents(deps);
  return async (timeoutMs: number, kinds?: readonly EntityKind[]): Promise<boolean> => {
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => late.resolve(false), timeoutMs);
    const arrival = deps
      // Without the bus nothing can arrive in time.
      .checkBus()
      .then(() => arrive(timeoutMs, kinds))
      .catch((error: unknown) => {
        deps.logger.debug({ err: error }, 'it is not known whether the index has all events');
        return false;
      });
    const hasArrived = await Promise.race([arrival, late.promise]);
    clearTimeout(timer);
    return hasArrived;
  };
}

/**
 * Waits until lists of these kinds have the events of earlier writes, or for a timeout in milliseconds: an outdated index is
 * better than none.
 */
export function awaitWrites(deps: AwaitEventsDeps) {
  const arrive = awaitEventsInTime(deps);
  return async (kinds: readonly EntityKind[], timeoutMs: number): Promise<void> => {
    // An event of the packages service publishes a package together with its records.
    if (timeoutMs > 0) await arrive(timeoutMs, kinds.includes('record') ? ENTITY_KINDS : kinds);
  };
}

export interface AwaitIndexDeps extends AwaitEventsDeps {
  consumer: Pick<Consumer, 'whenCaughtUp' | 'failing'>;
}

/** Time to send the answer before the caller's deadline. */
const ANSWER_MS = 50;

/**
 * SearchService.AwaitIndex. Never rejects, because the caller's change is done. While an event waits for a retry, its
 * entity is not known, so the result is not known either.
 */
export function awaitIndex(deps: AwaitIndexDeps) {
  const arrive = awaitEventsInTime(deps);
  return async (
    _request: AwaitIndexRequest__Output,
    { deadline }: Pick<CallContext, 'deadline'>,
  ): Promise<AwaitIndexResponse> => {
    const timeoutMs = Math.max(0, deadline.getTime() - ANSWER_MS - Date.now());
    return { isFound: (await arrive(timeoutMs)) && deps.consumer.failing() === 0 };
  };
}
