import type { DescribeIndexResponse, DriftReport } from '@kr/contracts';
import type { Consumer } from '@kr/event-bus';
import type { SearchEngine } from '../engine/search-engine.ts';
import { type DriftCounts, loggedDrift } from './check-drift.ts';
import type { OperationLog } from './operation-log.ts';
import { loggedReindex } from './reindex.ts';

export interface DescribeIndexDeps {
  engine: SearchEngine;
  consumer: Pick<Consumer, 'pending' | 'oldestPending'>;
  countDeadLetters: () => Promise<number>;
  log: OperationLog;
}

/** SearchService.DescribeIndex. @throws ServiceError `internal` while the bus cannot be reached */
export async function describeIndex({
  engine,
  consumer,
  countDeadLetters,
  log,
}: DescribeIndexDeps): Promise<DescribeIndexResponse> {
  const [documents, isFilled, pendingEvents, oldest, deadLetters, reindex, drift] = await Promise.all([
    engine.count(),
    engine.isFilled(),
    consumer.pending(),
    consumer.oldestPending(),
    countDeadLetters(),
    log.read('reindex'),
    log.read('drift'),
  ]);
  return {
    engine: engine.name,
    documents,
    isFilled,
    pendingEvents,
    oldestPendingAt: oldest?.toISOString() ?? '',
    deadLetters,
    reindex:
      reindex === undefined
        ? null
        : {
            ...loggedReindex(reindex),
            begunAt: reindex.begunAt.toISOString(),
            endedAt: reindex.endedAt?.toISOString() ?? '',
          },
    drift:
      drift?.endedAt === undefined
        ? null
        : driftReport({ ...drift, endedAt: drift.endedAt, report: loggedDrift(drift) }),
  };
}

export function driftReport({
  begunAt,
  endedAt,
  report: { forms, left, ...counts },
}: {
  begunAt: Date;
  endedAt: Date;
  report: DriftCounts;
}): DriftReport {
  return {
    ...counts,
    begunAt: begunAt.toISOString(),
    endedAt: endedAt.toISOString(),
    forms: forms.map(({ kind, id, form, problem }) => ({ kind, id, isDraft: form === 'draft', problem })),
  };
}
