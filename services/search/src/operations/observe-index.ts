import type { Consumer } from '@kr/event-bus';
import { type Logger, observeGauges } from '@kr/telemetry';
import { loggedDrift } from './check-drift.ts';
import type { OperationLog } from './operation-log.ts';

export interface ObserveIndexDeps {
  consumer: Pick<Consumer, 'pending' | 'oldestPending'>;
  countDeadLetters: () => Promise<number>;
  log: OperationLog;
  now: () => Date;
  logger: Logger;
}

const GAUGES = {
  pending: { name: 'search_events_pending', description: 'Events that the index has not taken in yet.' },
  lag: {
    name: 'search_events_oldest_seconds',
    description: 'Age of the oldest event that the index has not taken in; 0 when there is none.',
    unit: 's',
  },
  deadLetters: { name: 'search_dead_letters', description: 'Events that could not be indexed.' },
  missing: {
    name: 'search_drift_missing',
    description: 'Forms that the latest comparison with the services could not find, and did not mend.',
  },
  stale: {
    name: 'search_drift_stale',
    description: 'Forms that the latest comparison found by something else than they are, and did not mend.',
  },
  ghosts: {
    name: 'search_drift_ghosts',
    description: 'Forms that the latest comparison found though they are not there, and did not mend.',
  },
  age: {
    name: 'search_drift_age_seconds',
    description: 'Since the latest comparison; absent before the first.',
    unit: 's',
  },
} as const;

/** Shows at each collection of metrics how far the index and the services are apart. */
export function observeIndex(deps: ObserveIndexDeps): { stop(): void } {
  return observeGauges({
    meter: 'search',
    gauges: GAUGES,
    failed: (err) => deps.logger.warn({ err }, 'the index could not be looked at'),
    read: async () => [...(await lagReadings(deps)), ...(await driftReadings(deps))],
  });
}

async function lagReadings({ consumer, countDeadLetters, now }: ObserveIndexDeps) {
  const [pending, oldest, deadLetters] = await Promise.all([
    consumer.pending(),
    consumer.oldestPending(),
    countDeadLetters(),
  ]);
  const lagMs = oldest === undefined ? 0 : Math.max(0, now().getTime() - oldest.getTime());
  return [
    { of: 'pending' as const, value: pending },
    { of: 'lag' as const, value: lagMs / 1_000 },
    { of: 'deadLetters' as const, value: deadLetters },
  ];
}

async function driftReadings({ log, now }: ObserveIndexDeps) {
  const latest = await log.read('drift');
  if (latest?.endedAt === undefined) return [];
  const { left } = loggedDrift(latest);
  return [
    { of: 'missing' as const, value: left.missing },
    { of: 'stale' as const, value: left.stale },
    { of: 'ghosts' as const, value: left.ghosts },
    { of: 'age' as const, value: Math.max(0, now().getTime() - latest.begunAt.getTime()) / 1_000 },
  ];
}
