import type { Consumer } from '@kr/event-bus';
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

/** What somebody wants the index to hold. */
export interface WantedWrites {
  of: readonly SenderName[];
  /** Those that are known to have sent everything. */
  sentBy?: readonly string[];
  /** Whether services that may have unsent events may be named, instead of asked, while the index holds all that was sent. */
  mayLeaveUnasked?: boolean;
  /** The longest wait for them, in milliseconds, where it is shorter than that for others. */
  withinMs?: number;
}

/** What is not proven yet: as `SearchResponse.unasked`. */
export interface Unproven {
  unasked: readonly SenderName[];
  /** Everything up to here is in the index. */
  streamEnd: number;
}

/**
 * Waits until the index holds everything that these services committed before the call, as far as that is known in
 * time: first their events have to be sent, then indexed. Where the index holds all that was sent, the services that
 * could have more need not be asked: whoever reads from them next may ask on the way. Never rejects: an index that is
 * late is better than none.
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
