import { failpoint } from '@kr/failpoint';
import { isTransient } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { IndexedEntity } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { type EntitySource, fetchReadable } from '../sources/entity-source.ts';
import type { LoggedOperation, OperationLog } from './operation-log.ts';
import {
  bytesOf,
  forEachPage,
  listIdPages,
  type PageSize,
  pauseUnlessStopped,
  type Throttle,
} from './pages.ts';
import { type ProcessLock, withLock } from './with-lock.ts';
import { writeIsolatingFailures } from './write-isolating-failures.ts';

export interface ReindexDeps {
  index: SearchIndex;
  source: EntitySource;
  throttle: Throttle;
  /** Whether the index has applied all events of changes committed before the call. */
  hasArrived: () => Promise<boolean>;
  logger: Logger;
}

export interface ReindexProgress {
  /** Forms in the new index so far. */
  documents: number;
  /** Why it makes no progress now, or the forms it had to omit; empty otherwise. */
  problem: string;
}

/** The log of the latest one; `build` is the id of its index once there is one. */
export type ReindexReport = ReindexProgress & { expected: number; build?: string };

export function loggedReindex({ report }: LoggedOperation): ReindexReport {
  return report as unknown as ReindexReport;
}

const MAX_PAUSE_MS = 10_000;

/**
 * Builds the index beside the live one and replaces that, also if services are unavailable meanwhile. Changes during the
 * build are written into both, so the new one is complete once every event of the read entities has arrived, except entities that cannot be
 * read and forms that the engine rejects.
 * @returns whether it is finished: not if it was stopped
 * @throws Error on a permanent failure: it must be started again
 */
async function reindex(
  { index, source, throttle, hasArrived, logger }: ReindexDeps,
  lock: ProcessLock,
  stopping: AbortSignal,
  report: (progress: Partial<ReindexReport>) => Promise<void>,
): Promise<boolean> {
  const signal = AbortSignal.any([stopping, lock.lost]);
  let documents = 0;
  const omitted: Error[] = [];
  // The temporary errors: one page may progress while another one does not.
  const retried = new Map<object, string>();
  const progress = (): ReindexProgress => {
    const [problem = problemOf(omitted)] = retried.values();
    return { documents, problem };
  };
  const retrying = async <Result>(name: string, act: () => Promise<Result>) => {
    const result = await tryOn(act, signal, async (error) => {
      // At a start the other services may not be ready yet: no stack trace.
      logger.warn(
        isTransient(error) ? { reason: messageOf(error) } : { err: error },
        `${name} failed, trying again`,
      );
      retried.set(act, `${name}: ${messageOf(error)}`);
      await report(progress());
    });
    retried.delete(act);
    return result;
  };

  const build = await retrying('creating the index', index.startBuild);
  if (build === undefined) return false;
  // Before any write: if it is the live index later, the build was complete.
  await report({ build });
  const write = (entities: readonly IndexedEntity[]) => index.build(build, entities);
  const list: EntitySource['list'] = async (...after) =>
    (await retrying('listing entities', () => source.list(...after))) ?? [];
  const pages = (size: PageSize) => listIdPages(list, size, signal);
  await forEachPage(pages, throttle, async ({ kind, ids }) => {
    const read = await retrying('reading entities', () => fetchReadable(source, logger, kind, ids));
    if (read === undefined) return 0;
    const { entities, unreadable } = read;
    omitted.push(...unreadable.map(({ error }) => error));
    const left = await retrying('writing documents', () => writeIsolatingFailures(entities, write, logger));
    if (left === undefined) return 0;
    omitted.push(...left);
    documents += entities.length - left.length;
    await report(progress());
    return bytesOf(entities);
  });
  if (documents === 0 && omitted[0]) throw omitted[0];
  const finished = await retrying('replacing the former index', async () => {
    if (!(await hasArrived())) throw new EventsOnTheirWay();
    await lock.check();
    await index.finishBuild(build, !throttle.hasSearches());
    return true;
  });
  if (finished !== true) return false;
  await report(progress());
  return true;
}

function problemOf(omitted: readonly Error[]): string {
  const [first] = omitted;
  if (first === undefined) return '';
  return `${omitted.length} entities or documents were omitted and are in the log; the first: ${messageOf(first)}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

class EventsOnTheirWay extends Error {
  override readonly name = 'EventsOnTheirWay';
  override readonly message = 'events of the read entities are in flight';
}

/** Undefined when it was stopped first. */
async function tryOn<Result>(
  act: () => Promise<Result>,
  signal: AbortSignal,
  onFailure: (error: unknown) => Promise<void>,
): Promise<Result | undefined> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      return await act();
    } catch (error) {
      if (!isTransient(error) && !(error instanceof EventsOnTheirWay)) throw error;
      if (failures === 0) await onFailure(error);
      await pauseUnlessStopped(Math.min(100 * 2 ** failures, MAX_PAUSE_MS), signal);
    }
  }
  return undefined;
}

export interface ReindexingDeps extends ReindexDeps {
  databaseUrl: string;
  log: OperationLog;
  logger: Logger;
}

/** Interval at which other processes try to continue the work of one that ended. */
const CHECK_EVERY_MS = 5_000;

/**
 * Builds the index when requested, here or in a process that has ended, and when it was never built completely;
 * until the signal.
 */
export async function reindexWhenRequested(
  deps: ReindexingDeps,
  requested: Signal,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await reindexIfRequested(deps, signal);
    } catch (error) {
      if (!signal.aborted) deps.logger.warn({ err: error }, 'the index could not be built, trying again');
    }
    await requested.wait(CHECK_EVERY_MS, signal);
  }
}

async function reindexIfRequested(deps: ReindexingDeps, signal: AbortSignal): Promise<void> {
  const { databaseUrl, index, log, logger } = deps;
  if ((await openReport(log)) === undefined) {
    if (await index.isFilled()) return;
    await openReindex(deps);
  }
  await withLock(databaseUrl, 'reindex', async (lock) => {
    // The previous holder of the lock may have finished meanwhile.
    const request = await openReport(log);
    if (request === undefined) return;
    if (!(await isDone(deps, request)) && !(await reindexAndReport(deps, lock, signal))) return;
    await failpoint('reindex.note.before');
    await log.close('reindex');
    logger.info('the index was built');
  });
}

/** @returns false when one is running */
export async function openReindex({ index, log }: Pick<ReindexingDeps, 'index' | 'log'>): Promise<boolean> {
  return log.open('reindex', { documents: 0, expected: await index.count(), problem: '' });
}

async function openReport(log: OperationLog): Promise<ReindexReport | undefined> {
  const latest = await log.read('reindex');
  return latest === undefined || latest.endedAt !== undefined ? undefined : loggedReindex(latest);
}

/** Whether another process finished it without recording that. */
async function isDone({ index }: ReindexingDeps, { build }: ReindexReport): Promise<boolean> {
  return build !== undefined && index.isLive(build);
}

async function reindexAndReport(
  deps: ReindexingDeps,
  lock: ProcessLock,
  signal: AbortSignal,
): Promise<boolean> {
  const report = (progress: Partial<ReindexReport>) => deps.log.note('reindex', progress);
  try {
    return await reindex(deps, lock, signal, report);
  } catch (error) {
    await report({ problem: `it is started again: ${messageOf(error)}` });
    throw error;
  }
}

/** Wakes up one waiting loop. */
export interface Signal {
  notify(): void;
  /** Resolves after milliseconds, or earlier if it is notified or the signal aborts. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export function createSignal(): Signal {
  let notified = new AbortController();
  return {
    notify: () => notified.abort(),
    wait: async (milliseconds, signal) => {
      await pauseUnlessStopped(milliseconds, AbortSignal.any([signal, notified.signal]));
      notified = new AbortController();
    },
  };
}
