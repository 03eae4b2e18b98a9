import type { CheckDriftRequest__Output, DescribeIndexResponse, DriftReport } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import { ServiceError } from '@kr/service-error';
import { type Logger, observeGauges } from '@kr/telemetry';
import type pg from 'pg';
import type { SearchIndex } from '../index/search-index.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { checkDrift, checkDriftPeriodically, type DriftCounts, loggedDrift } from './check-drift.ts';
import { type OperationLog, operationLog } from './operation-log.ts';
import type { Throttle } from './pages.ts';
import { createSignal, loggedReindex, openReindex, reindexWhenRequested } from './reindex.ts';

export interface DescribeIndexDeps {
  index: SearchIndex;
  consumer: Pick<Consumer, 'lag'>;
  countDeadLetters: () => Promise<number>;
  log: OperationLog;
}

/** SearchService.DescribeIndex. @throws ServiceError `internal` while the bus cannot be reached */
async function describeIndex({
  index,
  consumer,
  countDeadLetters,
  log,
}: DescribeIndexDeps): Promise<DescribeIndexResponse> {
  const [documents, isFilled, lag, deadLetters, reindex, drift] = await Promise.all([
    index.count(),
    index.isFilled(),
    consumer.lag(),
    countDeadLetters(),
    log.read('reindex'),
    log.read('drift'),
  ]);
  return {
    engine: index.engine,
    documents,
    isFilled,
    pendingEvents: lag.pending + lag.unacknowledged,
    oldestPendingAt: lag.oldest?.toISOString() ?? '',
    deadLetters,
    reindex:
      reindex === undefined
        ? null
        : {
            ...loggedReindex(reindex),
            startedAt: reindex.startedAt.toISOString(),
            endedAt: reindex.endedAt?.toISOString() ?? '',
          },
    drift:
      drift?.endedAt === undefined
        ? null
        : driftReport({ ...drift, endedAt: drift.endedAt, report: loggedDrift(drift) }),
  };
}

function driftReport({
  startedAt,
  endedAt,
  report: { forms, left, ...counts },
}: {
  startedAt: Date;
  endedAt: Date;
  report: DriftCounts;
}): DriftReport {
  return {
    ...counts,
    startedAt: startedAt.toISOString(),
    endedAt: endedAt.toISOString(),
    forms: forms.map(({ kind, id, form, problem }) => ({ kind, id, isDraft: form === 'draft', problem })),
  };
}

export interface ObserveIndexDeps {
  consumer: Pick<Consumer, 'lag'>;
  countDeadLetters: () => Promise<number>;
  log: OperationLog;
  now: () => Date;
  logger: Logger;
}

const GAUGES = {
  pending: { name: 'search_events_pending', description: 'Events that the index has not applied yet.' },
  lag: {
    name: 'search_events_oldest_seconds',
    description: 'Age of the oldest event that the index has not applied; 0 if it has applied all.',
    unit: 's',
  },
  deadLetters: { name: 'search_dead_letters', description: 'Events that could not be indexed.' },
  missing: {
    name: 'search_drift_missing',
    description: 'Forms that the index lacks, after the latest comparison with the services.',
  },
  stale: {
    name: 'search_drift_stale',
    description: 'Forms with outdated content in the index, after the latest comparison with the services.',
  },
  ghosts: {
    name: 'search_drift_ghosts',
    description: 'Forms that only the index has, after the latest comparison with the services.',
  },
  age: {
    name: 'search_drift_age_seconds',
    description: 'Time since the latest comparison with the services; absent before the first.',
    unit: 's',
  },
} as const;

/** Shows at each collection of metrics how far the index and the services are apart. */
function observeIndex(deps: ObserveIndexDeps): { stop(): void } {
  return observeGauges({
    meter: 'search',
    gauges: GAUGES,
    onFailed: (err) => deps.logger.warn({ err }, 'the index could not be inspected'),
    read: async () => [...(await lagReadings(deps)), ...(await driftReadings(deps))],
  });
}

async function lagReadings({ consumer, countDeadLetters, now }: ObserveIndexDeps) {
  const [lag, deadLetters] = await Promise.all([consumer.lag(), countDeadLetters()]);
  const { pending, unacknowledged, oldest } = lag;
  const lagMs = oldest === undefined ? 0 : Math.max(0, now().getTime() - oldest.getTime());
  return [
    { of: 'pending' as const, value: pending + unacknowledged },
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
    { of: 'age' as const, value: Math.max(0, now().getTime() - latest.startedAt.getTime()) / 1_000 },
  ];
}

export interface OperationsDeps {
  index: SearchIndex;
  source: EntitySource;
  /** To searches, while the index is built. */
  throttle: Throttle;
  consumer: Pick<Consumer, 'lag'>;
  /** Whether the index has applied all events of changes committed before the call. */
  hasArrived: () => Promise<boolean>;
  /** The database of dead letters and of the operation log. */
  pool: Pick<pg.Pool, 'query'>;
  databaseUrl: string;
  /** Milliseconds between two comparisons with the services. */
  driftCheckEveryMs: number;
  now: () => Date;
  logger: Logger;
}

/** The RPCs of operators, and the operations that they start. `stop` leaves unfinished operations to the next start. */
export function startOperations(deps: OperationsDeps) {
  const { index, pool, logger, driftCheckEveryMs } = deps;
  const log = operationLog(pool);
  const stopping = new AbortController();
  const requested = createSignal();
  const countDeadLetters = async () => {
    const { rows } = await pool.query<{ count: string }>('SELECT count(*) FROM dead_letter');
    return Number(rows[0]?.count ?? 0);
  };
  const described = { ...deps, countDeadLetters, log };

  const gauges = observeIndex(described);
  const running = Promise.all([
    reindexWhenRequested({ ...deps, log }, requested, stopping.signal),
    checkDriftPeriodically({ ...deps, log }, driftCheckEveryMs, stopping.signal),
  ]);

  const requestReindex = async () => {
    const isOpened = await openReindex({ index, log });
    if (isOpened) requested.notify();
    return isOpened;
  };

  return {
    /** Starts to build the index, unless it is being built. */
    rebuild: async () => {
      if (await index.isFilled()) await requestReindex();
    },
    handlers: {
      DescribeIndex: () => describeIndex(described),
      StartReindex: async () => {
        const isFirstBuild = !(await index.isFilled());
        // A first build in progress is what the operator requested.
        if (!(await requestReindex()) && !isFirstBuild)
          throw new ServiceError('conflict', 'The index is being built already.');
        return {};
      },
      CheckDrift: async ({ isRepaired }: CheckDriftRequest__Output) => ({
        drift: driftReport(await checkDrift({ ...deps, log }, isRepaired, stopping.signal)),
      }),
    },
    stop: async () => {
      stopping.abort(new ServiceError('unavailable', 'The search service stops.', { retryAfterMs: 1_000 }));
      gauges.stop();
      await running.catch((error: unknown) => logger.error({ err: error }, 'an operation failed'));
    },
  };
}
