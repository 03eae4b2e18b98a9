import { observeGauges } from '@kr/telemetry';
import type { LifecycleContext } from './lifecycle-context.ts';

const GAUGES = {
  held: { name: 'publication_locks', description: 'Publications that hold drafts of this service.' },
  oldest: {
    name: 'publication_locks_oldest_seconds',
    description: 'Age of the oldest publication that holds drafts; 0 when there is none.',
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
        { of: 'held', value: count },
        { of: 'oldest', value: ageMs / 1_000 },
      ];
    },
  });
}
