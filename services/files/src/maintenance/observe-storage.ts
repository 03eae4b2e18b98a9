import { observeGauges } from '@kr/telemetry';
import type { FilesContext } from '../context.ts';
import { countDamaged, findFixityCheck } from './fixity-reports.ts';

const GAUGES = {
  age: {
    name: 'files_fixity_check_age_seconds',
    description: 'Time since the start of the latest finished fixity check; absent before the first.',
    unit: 's',
  },
  interval: {
    name: 'files_fixity_check_interval_seconds',
    description: 'Interval between the starts of two fixity checks; absent if they start only on request.',
    unit: 's',
  },
  corrupt: { name: 'files_objects_corrupt', description: 'Objects whose bytes differ from those stored.' },
  missing: { name: 'files_objects_missing', description: 'Objects whose bytes are gone.' },
  unreadable: { name: 'files_objects_unreadable', description: 'Objects whose bytes cannot be read.' },
  unreferencedBlobs: {
    name: 'files_unreferenced_blobs',
    description: 'Stored blobs older than the grace period without a row, in the last garbage collection.',
  },
} as const;

/**
 * Reports the findings of fixity checks at each collection of metrics.
 * @param unreferencedBlobs the number of blobs without a row in the last garbage collection of this process
 */
export function observeStorage(
  { database, now, logger, fixity }: FilesContext,
  unreferencedBlobs: () => number,
): { stop(): void } {
  const intervals = fixity.everyMs === 0 ? [] : [{ of: 'interval' as const, value: fixity.everyMs / 1_000 }];
  return observeGauges({
    meter: 'files',
    gauges: GAUGES,
    onFailed: (err) => logger.warn({ err }, 'fixity checks cannot be read'),
    async read() {
      const [finished, counts] = await Promise.all([
        findFixityCheck(database, { isFinished: true }),
        countDamaged(database),
      ]);
      const ages = finished === undefined ? [] : [now().getTime() - finished.startedAt.getTime()];
      return [
        ...ages.map((ms) => ({ of: 'age' as const, value: Math.max(0, ms) / 1_000 })),
        ...intervals,
        { of: 'corrupt', value: counts.corrupt },
        { of: 'missing', value: counts.missing },
        { of: 'unreadable', value: counts.unreadable },
        { of: 'unreferencedBlobs', value: unreferencedBlobs() },
      ];
    },
  });
}
