import type { Sql } from '@kr/database';
import { type Repeated, repeatedly } from '@kr/draft-lifecycle';
import { observeGauges, type Reading } from '@kr/telemetry';

export interface MaintenanceDeps {
  readonly database: Sql;
  now(): Date;
  onFailed(cause: unknown): void;
}

/** Milliseconds that the answer to a repeated request is stored. */
const RETENTION_MS = 30 * 86_400_000;
const EVERY_MS = 3_600_000;
const BATCH = 5_000;

/** Deletes publications that finished long ago, at once and every hour. Runs until stopped. */
export function deleteOldPublications(deps: MaintenanceDeps): Repeated {
  return repeatedly(EVERY_MS, () => deleteOldOnce(deps), deps.onFailed);
}

/** No participant queries them: all participants have applied a finished publication. */
export async function deleteOldOnce({
  database,
  now,
}: Pick<MaintenanceDeps, 'database' | 'now'>): Promise<void> {
  const before = new Date(now().getTime() - RETENTION_MS);
  for (let removed = BATCH; removed === BATCH; ) {
    removed = await database.$executeRawUnsafe(
      `delete from publication where id in (
         select id from publication
         where state in ('DONE', 'ABORT_DONE') and finished_at < $1::timestamptz limit ${BATCH}
       )`,
      before.toISOString(),
    );
  }
}

const OPEN_STATES = ['PREPARING', 'COMMITTED', 'ABORTED'] as const;

const GAUGES = {
  open: { name: 'publications_open', description: 'Unfinished publications.' },
  oldest: {
    name: 'publications_open_oldest_seconds',
    description: 'Age of the oldest publication in that state; 0 if there is none.',
    unit: 's',
  },
} as const;

/** Metrics of unfinished publications, from one query over the few open rows per collection. */
export function observePublications({ database, now, onFailed }: MaintenanceDeps): { stop(): void } {
  return observeGauges({
    meter: 'packages',
    gauges: GAUGES,
    onFailed,
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
