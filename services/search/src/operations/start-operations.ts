import type { CheckDriftRequest__Output } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type pg from 'pg';
import type { GiveWay } from '../consume/give-way.ts';
import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { checkDrift } from './check-drift.ts';
import { describeIndex, driftReport } from './describe-index.ts';
import { keepChecking } from './keep-checking.ts';
import { createBell, keepReindexing, openReindex } from './keep-reindexing.ts';
import { observeIndex } from './observe-index.ts';
import { operationLog } from './operation-log.ts';

export interface OperationsDeps {
  engine: SearchEngine;
  source: EntitySource;
  /** To searches, while the index is built. */
  giveWay: GiveWay;
  consumer: Pick<Consumer, 'pending' | 'oldestPending'>;
  /** Whether the index has taken in every event of what was committed before the call. */
  hasArrived: () => Promise<boolean>;
  /** Where dead letters are and what was done is noted. */
  pool: Pick<pg.Pool, 'query'>;
  databaseUrl: string;
  /** From one comparison with the services to the next, in milliseconds; 0: only operators make them. */
  driftCheckEveryMs: number;
  now: () => Date;
  logger: Logger;
}

/** The RPCs of operators and what they set going; `stop` leaves what is unfinished to the next start. */
export function startOperations(deps: OperationsDeps) {
  const { engine, pool, logger, driftCheckEveryMs } = deps;
  const log = operationLog(pool);
  const stopping = new AbortController();
  const bell = createBell();
  const countDeadLetters = async () => {
    const { rows } = await pool.query<{ count: string }>('SELECT count(*) FROM dead_letter');
    return Number(rows[0]?.count ?? 0);
  };
  const described = { ...deps, countDeadLetters, log };

  const gauges = observeIndex(described);
  const running = Promise.all([
    keepReindexing({ ...deps, log }, bell, stopping.signal),
    driftCheckEveryMs === 0 ? undefined : keepChecking({ ...deps, log }, driftCheckEveryMs, stopping.signal),
  ]);

  const beginReindex = async () => {
    const isOpened = await openReindex({ engine, log });
    if (isOpened) bell.ring();
    return isOpened;
  };

  return {
    /** Begins to build the index anew, unless it is being built or filled. */
    rebuild: async () => {
      if (await engine.isFilled()) await beginReindex();
    },
    handlers: {
      DescribeIndex: () => describeIndex(described),
      StartReindex: async () => {
        if (!(await engine.isFilled()))
          throw new ServiceError('conflict', 'The index is still being filled; that makes it anew.');
        if (!(await beginReindex()))
          throw new ServiceError('conflict', 'The index is being built anew already.');
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
