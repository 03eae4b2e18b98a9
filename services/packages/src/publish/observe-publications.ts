import { observeGauges, type Reading } from '@kr/telemetry';
import type { Tx } from '../store/prisma.ts';

export interface ObservePublicationsDeps {
  readonly database: Tx;
  now(): Date;
  failed(cause: unknown): void;
}

const OPEN_STATES = ['PREPARING', 'COMMITTED', 'ABORTED'] as const;

const GAUGES = {
  open: { name: 'publications_open', description: 'Publications that somebody still has to work on.' },
  oldest: {
    name: 'publications_open_oldest_seconds',
    description: 'Age of the oldest publication in that state; 0 when there is none.',
    unit: 's',
  },
} as const;

/** Metrics of unfinished publications, from one query over the few open rows per collection. */
export function observePublications({ database, now, failed }: ObservePublicationsDeps): { stop(): void } {
  return observeGauges({
    meter: 'packages',
    gauges: GAUGES,
    failed,
    async read() {
      const rows = await database.$queryRawUnsafe<{ state: string; count: number; oldest: Date }[]>(
        `select state, count(*)::int as count, min(created_at) as oldest from publication
         where state in ('PREPARING', 'COMMITTED', 'ABORTED') group by state`,
      );
      const found = new Map(rows.map((row) => [row.state, row]));
      return OPEN_STATES.flatMap((state): Reading<keyof typeof GAUGES>[] => {
        const { count = 0, oldest } = found.get(state) ?? {};
        const ageMs = oldest === undefined ? 0 : Math.max(0, now().getTime() - oldest.getTime());
        return [
          { of: 'open', value: count, attributes: { state } },
          { of: 'oldest', value: ageMs / 1_000, attributes: { state } },
        ];
      });
    },
  });
}
