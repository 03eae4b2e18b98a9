import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { type Drift, type DriftDeps, findDrift } from './find-drift.ts';
import type { LoggedOperation, OperationLog } from './operation-log.ts';
import { pauseUnlessStopped } from './pages.ts';
import { withLock } from './with-lock.ts';

export interface CheckDriftDeps extends DriftDeps {
  databaseUrl: string;
  log: OperationLog;
  logger: Logger;
  now: () => Date;
}

export interface DriftCounts {
  entities: number;
  /** Entities that cannot be read, and were not compared. */
  unreadable: number;
  missing: number;
  stale: number;
  ghosts: number;
  repaired: number;
  /** The unrepaired differences. */
  left: Readonly<Record<'missing' | 'stale' | 'ghosts', number>>;
  /** Some of the forms that differ. */
  forms: readonly { kind: string; id: string; form: string; problem: string }[];
}

/** People read the report. */
const MAX_FORMS = 100;

/**
 * One comparison of the index with the services, of which there is one at a time in all processes.
 *
 * @throws ServiceError `conflict` while another one runs or the index was never filled; as `findDrift`
 */
export async function checkDrift(
  deps: CheckDriftDeps,
  isRepaired: boolean,
  signal: AbortSignal,
): Promise<{ startedAt: Date; endedAt: Date; report: DriftCounts }> {
  const { databaseUrl, index, log, logger, now } = deps;
  if (!(await index.isFilled()))
    throw new ServiceError('conflict', 'The index is still being filled; it can be compared after that.');
  const entry = await withLock(databaseUrl, 'drift', async () => {
    const startedAt = now();
    const report = countsOf(await findDrift(deps, isRepaired, signal));
    const checked = { startedAt, endedAt: now(), report };
    await log.enter('drift', checked);
    return checked;
  });
  if (entry === undefined) throw new ServiceError('conflict', 'The index is being compared now.');
  const { forms, ...counts } = entry.report;
  if (forms.length > 0 || counts.unreadable > 0)
    logger.warn({ ...counts, forms: forms.slice(0, 5) }, 'the index differs from the services');
  return entry;
}

function countsOf({ entities, unreadable, differences, repaired }: Drift): DriftCounts {
  const found = byProblem(differences);
  const corrected = byProblem(repaired);
  return {
    entities,
    unreadable,
    ...found,
    repaired: repaired.length,
    left: {
      missing: found.missing - corrected.missing,
      stale: found.stale - corrected.stale,
      ghosts: found.ghosts - corrected.ghosts,
    },
    forms: differences
      .slice(0, MAX_FORMS)
      .map(({ kind, id, form, problem }) => ({ kind, id, form, problem })),
  };
}

function byProblem(differences: Drift['differences']): DriftCounts['left'] {
  const count = (one: string) => differences.filter(({ problem }) => problem === one).length;
  return { missing: count('missing'), stale: count('stale'), ghosts: count('ghost') };
}

/** The latest check in the log. */
export function loggedDrift({ report }: LoggedOperation): DriftCounts {
  return report as unknown as DriftCounts;
}

/** Interval of the test whether a check is due: another process, or an operator, may have made one. */
const TEST_EVERY_MS = 60_000;

/** Compares the index with the services at the configured interval, in any one process; until the signal. */
export async function checkDriftPeriodically(
  deps: CheckDriftDeps,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await pauseUnlessStopped(Math.min(everyMs, TEST_EVERY_MS), signal);
    if (signal.aborted) return;
    try {
      if (await isDue(deps, everyMs)) await checkDrift(deps, false, signal);
    } catch (error) {
      if (!signal.aborted) deps.logger.warn({ err: error }, 'the index was not compared, trying later');
    }
  }
}

async function isDue({ index, log, now }: CheckDriftDeps, everyMs: number): Promise<boolean> {
  if (!(await index.isFilled())) return false;
  const latest = await log.read('drift');
  return latest !== undefined && now().getTime() - latest.startedAt.getTime() >= everyMs;
}
