import { failpoint } from '@kr/failpoint';
import { isTransient } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import {
  bytesOf,
  forEachPage,
  listIdPages,
  type PageSize,
  pauseUnlessStopped,
  type Throttle,
} from '../consume/pages.ts';
import { writeIsolatingFailures } from '../consume/write-isolating-failures.ts';
import type { IndexedEntity } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { type EntitySource, fetchReadable } from '../sources/entity-source.ts';
import type { LoggedOperation, OperationLog } from './operation-log.ts';
import { type HeldLock, withLock } from './with-lock.ts';

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

/** The log of the latest one: `build` since an index is being built for it. */
export type ReindexReport = ReindexProgress & { expected: number; build?: string };

export function loggedReindex({ report }: LoggedOperation): ReindexReport {
  return report as unknown as ReindexReport;
}

const LONGEST_PAUSE_MS = 10_000;

/**
 * Builds the index beside the live one and replaces that, also if services are unavailable meanwhile. Changes during the
 * build are written into both, so the new one is complete once every event of the read entities has arrived, except entities that cannot be
 * read and forms that the engine refuses.
 * @returns whether it is finished: not if it was stopped
 * @throws Error on a permanent failure: it must be started again
 */
async function reindex(
  { index, source, throttle, hasArrived, logger }: ReindexDeps,
  lock: HeldLock,
  stopping: AbortSignal,
  tell: (progress: Partial<ReindexReport>) => Promise<void>,
): Promise<boolean> {
  const signal = AbortSignal.any([stopping, lock.lost]);
  let documents = 0;
  const refused: Error[] = [];
  // The temporary errors: one page may progress while another one does not.
  const stuck = new Map<object, string>();
  const progress = (): ReindexProgress => {
    const [problem = problemOf(refused)] = stuck.values();
    return { documents, problem };
  };
  const patiently = async <Result>(what: string, act: () => Promise<Result>) => {
    const result = await tryOn(act, signal, async (error) => {
      // At a start the other services may not be ready yet: no stack trace.
      logger.warn(
        isTransient(error) ? { reason: messageOf(error) } : { err: error },
        `${what} failed, trying again`,
      );
      stuck.set(act, `${what}: ${messageOf(error)}`);
      await tell(progress());
    });
    stuck.delete(act);
    return result;
  };

  const build = await patiently('beginning the index', index.beginBuild);
  if (build === undefined) return false;
  // Before any write: a process that finds it in place of the former index knows that the build was complete.
  await tell({ build });
  const write = (entities: readonly IndexedEntity[]) => index.build(build, entities);
  const list: EntitySource['list'] = async (...after) =>
    (await patiently('listing entities', () => source.list(...after))) ?? [];
  const pages = (size: PageSize) => listIdPages(list, size, signal);
  await forEachPage(pages, throttle, async ({ kind, ids }) => {
    const read = await patiently('reading entities', () => fetchReadable(source, logger, kind, ids));
    if (read === undefined) return 0;
    const { entities, unreadable } = read;
    refused.push(...unreadable.map(({ error }) => error));
    const left = await patiently('writing documents', () => writeIsolatingFailures(entities, write, logger));
    if (left === undefined) return 0;
    refused.push(...left);
    documents += entities.length - left.length;
    await tell(progress());
    return bytesOf(entities);
  });
  if (documents === 0 && refused[0]) throw refused[0];
  const finished = await patiently('replacing the former index', async () => {
    if (!(await hasArrived())) throw new EventsOnTheirWay();
    await lock.check();
    await index.finishBuild(build, !throttle.isWanted());
    return true;
  });
  if (finished !== true) return false;
  await tell(progress());
  return true;
}

function problemOf(refused: readonly Error[]): string {
  const [first] = refused;
  if (first === undefined) return '';
  return `${refused.length} entities or documents were left out, which are in the log; the first: ${messageOf(first)}`;
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
      await pauseUnlessStopped(Math.min(100 * 2 ** failures, LONGEST_PAUSE_MS), signal);
    }
  }
  return undefined;
}

export interface ReindexingDeps extends ReindexDeps {
  databaseUrl: string;
  log: OperationLog;
  logger: Logger;
}

/** After which another process takes over from one that is gone. */
const LOOK_EVERY_MS = 5_000;

/**
 * Builds the index when requested, here or in a process that has ended, and when it was never built completely;
 * until the signal.
 */
export async function keepReindexing(deps: ReindexingDeps, bell: Bell, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await reindexIfWanted(deps, signal);
    } catch (error) {
      if (!signal.aborted) deps.logger.warn({ err: error }, 'the index could not be built, trying again');
    }
    await bell.heard(LOOK_EVERY_MS, signal);
  }
}

async function reindexIfWanted(deps: ReindexingDeps, signal: AbortSignal): Promise<void> {
  const { databaseUrl, index, log, logger } = deps;
  if ((await wanted(log)) === undefined) {
    if (await index.isFilled()) return;
    await openReindex(deps);
  }
  await withLock(databaseUrl, 'reindex', async (lock) => {
    // The previous holder of the lock may have finished meanwhile.
    const asked = await wanted(log);
    if (asked === undefined) return;
    if (!(await isDone(deps, asked)) && !(await reindexTold(deps, lock, signal))) return;
    await failpoint('reindex.note.before');
    await log.close('reindex');
    logger.info('the index was built');
  });
}

/** @returns false when one is under way */
export async function openReindex({ index, log }: Pick<ReindexingDeps, 'index' | 'log'>): Promise<boolean> {
  return log.open('reindex', { documents: 0, expected: await index.count(), problem: '' });
}

async function wanted(log: OperationLog): Promise<ReindexReport | undefined> {
  const latest = await log.read('reindex');
  return latest === undefined || latest.endedAt !== undefined ? undefined : loggedReindex(latest);
}

/** Whether another process finished it without recording that. */
async function isDone({ index }: ReindexingDeps, { build }: ReindexReport): Promise<boolean> {
  return build !== undefined && index.isLive(build);
}

async function reindexTold(deps: ReindexingDeps, lock: HeldLock, signal: AbortSignal): Promise<boolean> {
  const tell = (progress: Partial<ReindexReport>) => deps.log.note('reindex', progress);
  try {
    return await reindex(deps, lock, signal, tell);
  } catch (error) {
    await tell({ problem: `it is begun again: ${messageOf(error)}` });
    throw error;
  }
}

/** Ends a pause before its time. */
export interface Bell {
  ring(): void;
  heard(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export function createBell(): Bell {
  let ringing = new AbortController();
  return {
    ring: () => ringing.abort(),
    heard: async (milliseconds, signal) => {
      await pauseUnlessStopped(milliseconds, AbortSignal.any([signal, ringing.signal]));
      ringing = new AbortController();
    },
  };
}
