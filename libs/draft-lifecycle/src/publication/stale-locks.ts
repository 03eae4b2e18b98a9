import { around } from '@kr/failpoint';
import { observeGauges } from '@kr/telemetry';
import type { LifecycleContext } from '../context/context.ts';

export interface StaleLockScanner {
  /** Waits for a running round. */
  stop(): Promise<void>;
}

export interface StaleLockScannerOptions {
  /** Milliseconds between two scans (default 2000). */
  intervalMs?: number;
  /** Minimum age of queried locks in milliseconds (default 2000). */
  ageMs?: number;
}

const BATCH = 100;
const SWEEP_EVERY_MS = 3_600_000;
/** Milliseconds that rows of ended publications are stored, to answer repeated calls. */
const RETENTION_MS = 30 * 86_400_000;

/** Resolves locks older than `ageMs`. Without an answer of the coordinator a lock stays. */
export async function resolveOldLocks(
  { database, store, publications, now }: LifecycleContext,
  ageMs: number,
): Promise<void> {
  const old = await store.preparedBefore(database, new Date(now().getTime() - ageMs), BATCH);
  if (old.length > 0) await around('records.stale-locks', publications.resolve)(old);
}

/** Resolves old locks, at once and on a timer. Also deletes rows of publications that ended a month ago. */
export function startStaleLockScanner(
  context: LifecycleContext,
  { intervalMs = 2_000, ageMs = 2_000 }: StaleLockScannerOptions = {},
): StaleLockScanner {
  const { database, store, now, logger } = context;

  let nextSweepAt = 0;

  async function round(): Promise<void> {
    try {
      const at = now().getTime();
      if (at >= nextSweepAt) {
        await store.deleteEnded(database, new Date(at - RETENTION_MS));
        nextSweepAt = at + SWEEP_EVERY_MS;
      }
      await resolveOldLocks(context, ageMs);
    } catch (error) {
      logger.warn({ err: error }, 'old locks could not be resolved');
    }
  }

  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  // The pause begins when a round has ended: a coordinator that does not answer makes no queue.
  const nextRound = async (): Promise<void> => {
    await round();
    if (isStopped) return;
    timer = setTimeout(() => {
      running = nextRound();
    }, intervalMs);
    timer.unref();
  };
  let running = nextRound();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

const GAUGES = {
  count: { name: 'publication_locks', description: 'Publications that lock drafts of this service.' },
  oldest: {
    name: 'publication_locks_oldest_seconds',
    description: 'Age of the oldest publication that locks drafts; 0 if there is none.',
    unit: 's',
  },
} as const;

/** Metrics of locks, from one query over the few undecided rows per collection. */
export function observeLocks({ database, now, logger }: LifecycleContext): { stop(): void } {
  return observeGauges({
    meter: 'draft-lifecycle',
    gauges: GAUGES,
    failed: (error) => logger.warn({ err: error }, 'locks could not be counted'),
    async read() {
      const [row] = await database.$queryRawUnsafe<{ count: number; oldest: Date | null }[]>(
        `select count(*)::int as count, min(updated_at) as oldest from participant where state = 'prepared'`,
      );
      const { count = 0, oldest = null } = row ?? {};
      const ageMs = oldest === null ? 0 : Math.max(0, now().getTime() - oldest.getTime());
      return [
        { of: 'count', value: count },
        { of: 'oldest', value: ageMs / 1_000 },
      ];
    },
  });
}
