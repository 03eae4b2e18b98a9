import { observeGauges } from '@kr/telemetry';
import type { FilesContext } from '../context.ts';

const GAUGES = {
  sealed: { name: 'publication_seals', description: 'Publications that seal buckets of files.' },
  oldest: {
    name: 'publication_seals_oldest_seconds',
    description: 'Age of the oldest publication that seals buckets; 0 if no bucket is sealed.',
    unit: 's',
  },
} as const;

/** Reports the sealed buckets at each collection of metrics, with one query of an index. */
export function observeSeals({ database, now, logger }: FilesContext): { stop(): void } {
  return observeGauges({
    meter: 'files',
    gauges: GAUGES,
    onFailed: (err) => logger.warn({ err }, 'seals could not be counted'),
    async read() {
      const [row] = await database.$queryRawUnsafe<{ count: number; oldest: Date | null }[]>(
        `select count(distinct publication_id)::int as count, min(sealed_at) as oldest
         from bucket where state = 'sealed'`,
      );
      const { count = 0, oldest = null } = row ?? {};
      const ageMs = oldest === null ? 0 : Math.max(0, now().getTime() - oldest.getTime());
      return [
        { of: 'sealed', value: count },
        { of: 'oldest', value: ageMs / 1_000 },
      ];
    },
  });
}
