import type { Consumer } from '@kr/event-bus';
import type { Logger } from '@kr/telemetry';

/** A service whose entities are indexed. */
export type SenderName = 'records' | 'packages';

export interface AwaitWritesDeps {
  /** For each service whose entities are indexed: whether all its events are in the stream, within milliseconds. */
  senders: Readonly<Record<SenderName, (timeoutMs: number) => Promise<boolean>>>;
  consumer: Pick<Consumer, 'whenCaughtUp'>;
  /** @throws Error while the bus cannot be reached */
  checkBus: () => Promise<void>;
  /** The longest wait, in milliseconds; 0 waits for nothing. */
  timeoutMs: number;
  logger: Logger;
}

/**
 * Waits until the index holds everything that these services committed before the call, as far as that is known in
 * time: first their events have to be sent, then indexed. Never rejects: an index that is late is better than none.
 */
export function awaitWrites(deps: AwaitWritesDeps): (names: readonly SenderName[]) => Promise<void> {
  const { senders, timeoutMs, logger } = deps;
  return async (names) => {
    if (timeoutMs === 0) return;
    const deadline = Date.now() + timeoutMs;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, timeoutMs);
    // One that is away does not keep the others' news back.
    const arrivals = Promise.allSettled(
      names.map(async (name) => {
        if (!(await hasArrived(deps, senders[name], deadline))) throw new Error(`late: ${name}`);
      }),
    ).then((outcomes) => {
      const failed = outcomes
        .filter((outcome) => outcome.status === 'rejected')
        .map(({ reason }) => `${reason}`);
      if (failed.length > 0) logger.debug({ failed }, 'a listing did not wait for the index any longer');
    });
    await Promise.race([arrivals, late.promise]);
    clearTimeout(timer);
  };
}

async function hasArrived(
  { consumer, checkBus }: AwaitWritesDeps,
  whenSent: (timeoutMs: number) => Promise<boolean>,
  deadline: number,
): Promise<boolean> {
  // Without the bus nothing can arrive in time.
  await checkBus();
  if (!(await whenSent(deadline - Date.now()))) return false;
  return consumer.whenCaughtUp({ timeoutMs: deadline - Date.now() });
}
