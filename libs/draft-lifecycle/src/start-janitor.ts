import type { LifecycleContext } from './lifecycle-context.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { preparedBefore } from './participant-store.ts';

export interface Janitor {
  /** Waits for a running round. */
  stop(): Promise<void>;
}

export interface JanitorOptions {
  /** How often old locks are looked for, in milliseconds (default 2000). */
  intervalMs?: number;
  /** From which age on a lock is asked about, in milliseconds (default 2000). */
  ageMs?: number;
}

const BATCH = 100;

/**
 * Asks the coordinator about locks whose decision has not come, at once and on a timer. It never unlocks by itself:
 * without an answer a lock stays.
 */
export function startJanitor<Tx extends LifecycleSql>(
  context: LifecycleContext<Tx>,
  { intervalMs = 2_000, ageMs = 2_000 }: JanitorOptions = {},
): Janitor {
  const { database, publications, now, logger } = context;

  async function round(): Promise<void> {
    try {
      const old = await preparedBefore(database, new Date(now().getTime() - ageMs), BATCH);
      if (old.length > 0) await publications.settle(old);
    } catch (error) {
      logger.warn({ err: error }, 'old locks could not be settled');
    }
  }

  let running = round();
  const timer = setInterval(() => {
    running = running.then(round);
  }, intervalMs);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
