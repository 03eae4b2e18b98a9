import { observeGauges } from '@kr/telemetry';
import type { FilesContext } from '../context.ts';
import { countDamaged, findAudit } from './audit-reports.ts';

const GAUGES = {
  age: {
    name: 'files_audit_age_seconds',
    description: 'Seconds since the start of the latest finished audit; absent before the first.',
    unit: 's',
  },
  period: {
    name: 'files_audit_period_seconds',
    description: 'From the beginning of one audit to that of the next; absent where none begins by itself.',
    unit: 's',
  },
  different: { name: 'files_objects_different', description: 'Objects that are not what was stored.' },
  missing: { name: 'files_objects_missing', description: 'Objects whose bytes are gone.' },
  unreadable: { name: 'files_objects_unreadable', description: 'Objects whose bytes cannot be read.' },
  orphans: {
    name: 'files_orphans',
    description: 'Stored bytes older than the grace period that no row named, when last looked for.',
  },
} as const;

/**
 * Reports the findings of audits at each collection of metrics.
 * @param unreferenced number of stored objects without a row in the last garbage collection of this process
 */
export function observeStorage(
  { database, now, logger, audit }: FilesContext,
  unreferenced: () => number,
): { stop(): void } {
  const periods = audit.everyMs === 0 ? [] : [{ of: 'period' as const, value: audit.everyMs / 1_000 }];
  return observeGauges({
    meter: 'files',
    gauges: GAUGES,
    failed: (err) => logger.warn({ err }, 'audits cannot be read'),
    async read() {
      const [finished, counts] = await Promise.all([
        findAudit(database, { isFinished: true }),
        countDamaged(database),
      ]);
      const ages = finished === undefined ? [] : [now().getTime() - finished.startedAt.getTime()];
      return [
        ...ages.map((ms) => ({ of: 'age' as const, value: Math.max(0, ms) / 1_000 })),
        ...periods,
        { of: 'different', value: counts.different },
        { of: 'missing', value: counts.missing },
        { of: 'unreadable', value: counts.unreadable },
        { of: 'orphans', value: unreferenced() },
      ];
    },
  });
}
