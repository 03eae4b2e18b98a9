import type { AwaitIndexRequest__Output, AwaitIndexResponse } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';

/** A service whose entities are indexed. */
export type SenderName = 'records' | 'packages';

export interface AwaitWritesDeps {
  /** For each service whose entities are indexed: whether all its events are in the stream, within milliseconds. */
  senders: Readonly<Record<SenderName, (timeoutMs: number) => Promise<boolean>>>;
  consumer: Pick<Consumer, 'whenCaughtUp' | 'endIfCaughtUp'>;
  /** @throws Error while the bus cannot be reached */
  checkBus: () => Promise<void>;
  /** The longest wait, in milliseconds; 0 waits for nothing. */
  timeoutMs: number;
  logger: Logger;
}

/** The state that a caller requires of the index. */
export interface WantedWrites {
  of: readonly SenderName[];
  /** The services that are known to have sent all events. */
  sentBy?: readonly string[];
  /**
   * Whether services that may have unsent events may be returned in the answer, instead of being queried,
   * while the index contains all sent events.
   */
  mayLeaveUnasked?: boolean;
  /** The longest wait for them, in milliseconds, where it is shorter than that for others. */
  withinMs?: number;
}

/** The unproven part: as `SearchResponse.unasked`. */
export interface Unproven {
  unasked: readonly SenderName[];
  /** Everything up to here is in the index. */
  streamEnd: number;
}

/**
 * Waits until the index contains everything that these services committed before the call, as far as this is known in
 * time: their events must be sent, then indexed. If the index contains all sent events, services that
 * could have more need not be queried: the next reader of their entities may do so. Never rejects: a late index
 * is better than none.
 */
export function awaitWrites(deps: AwaitWritesDeps): (wanted: WantedWrites) => Promise<Unproven | undefined> {
  const { logger } = deps;
  return async (wanted) => {
    const timeoutMs = Math.min(deps.timeoutMs, wanted.withinMs ?? deps.timeoutMs);
    if (timeoutMs <= 0) return undefined;
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), timeoutMs);
    const arrival = arrive(deps, wanted, Date.now() + timeoutMs).catch((error: unknown) => {
      logger.debug({ err: error }, 'a listing did not wait for the index any longer');
      return undefined;
    });
    const unproven = await Promise.race([arrival, late.promise]);
    clearTimeout(timer);
    return unproven;
  };
}

async function arrive(
  deps: AwaitWritesDeps,
  { of, sentBy = [], mayLeaveUnasked = false }: WantedWrites,
  deadline: number,
): Promise<Unproven | undefined> {
  // Without the bus nothing can arrive in time.
  await deps.checkBus();
  if (mayLeaveUnasked) {
    const streamEnd = await deps.consumer.endIfCaughtUp({ timeoutMs: deadline - Date.now() });
    if (streamEnd !== undefined) return { unasked: of.filter((name) => !sentBy.includes(name)), streamEnd };
  }
  // One that is away does not keep the others' news back.
  const outcomes = await Promise.allSettled(
    of.map(async (name) => {
      const isSent = sentBy.includes(name) || (await deps.senders[name](deadline - Date.now()));
      if (!isSent || !(await deps.consumer.whenCaughtUp({ timeoutMs: deadline - Date.now() })))
        throw new Error(`late: ${name}`);
    }),
  );
  const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [`${outcome.reason}`] : []));
  if (failed.length > 0) throw new Error(failed.join(', '));
  return undefined;
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
