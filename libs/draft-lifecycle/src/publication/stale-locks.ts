import { around } from '@kr/failpoint';
import { observeGauges } from '@kr/telemetry';
import type { LifecycleContext } from '../context/context.ts';
import { type Repeated, repeatedly } from '../context/repeatedly.ts';

const BATCH = 100;
/** Younger locks belong to publications in progress. */
const LOCK_AGE_MS = 2_000;
const CLEANUP_INTERVAL_MS = 3_600_000;
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
export function startStaleLockScanner(context: LifecycleContext, everyMs: number): Repeated {
  const { database, store, now, logger } = context;
  let nextCleanupAt = 0;
  const scan = async (): Promise<void> => {
    const at = now().getTime();
    if (at >= nextCleanupAt) {
      await store.deleteEnded(database, new Date(at - RETENTION_MS));
      nextCleanupAt = at + CLEANUP_INTERVAL_MS;
    }
    await resolveOldLocks(context, LOCK_AGE_MS);
  };
  return repeatedly(everyMs, scan, (err) => logger.warn({ err }, 'old locks could not be resolved'));
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
    onFailed: (error) => logger.warn({ err: error }, 'locks could not be counted'),
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
