import { failpoint } from '@kr/failpoint';
import type { Logger } from '@kr/telemetry';
import { pauseUnlessStopped } from '../consume/pause-unless-stopped.ts';
import type { OperationLog } from './operation-log.ts';
import { loggedReindex, messageOf, type ReindexDeps, type ReindexReport, reindex } from './reindex.ts';
import { type HeldLock, withLock } from './with-lock.ts';

export interface ReindexingDeps extends ReindexDeps {
  databaseUrl: string;
  log: OperationLog;
  logger: Logger;
}

/** After which another process takes over from one that is gone. */
const LOOK_EVERY_MS = 5_000;

/**
 * Builds the index anew when that was asked for, here or in a process that is gone, and when it was never filled to its end;
 * until the signal.
 */
export async function keepReindexing(deps: ReindexingDeps, bell: Bell, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await reindexIfWanted(deps, signal);
    } catch (error) {
      if (!signal.aborted)
        deps.logger.warn({ err: error }, 'the index could not be built anew, trying again');
    }
    await bell.heard(LOOK_EVERY_MS, signal);
  }
}

async function reindexIfWanted(deps: ReindexingDeps, signal: AbortSignal): Promise<void> {
  const { databaseUrl, engine, log, logger } = deps;
  if ((await wanted(log)) === undefined) {
    if (await engine.isFilled()) return;
    await openReindex(deps);
  }
  await withLock(databaseUrl, 'reindex', async (lock) => {
    // Who held the lock before may have come to the end meanwhile.
    const asked = await wanted(log);
    if (asked === undefined) return;
    if (!(await isDone(deps, asked)) && !(await reindexTold(deps, lock, signal))) return;
    if (!(await engine.isFilled())) {
      await engine.markFilled();
      logger.info('index filled');
    }
    await failpoint('reindex.note.before');
    await log.close('reindex');
    logger.info('the index was built anew');
  });
}

/** @returns false when one is under way */
export async function openReindex({ engine, log }: Pick<ReindexingDeps, 'engine' | 'log'>): Promise<boolean> {
  return log.open('reindex', { documents: 0, expected: await engine.count(), problem: '' });
}

async function wanted(log: OperationLog): Promise<ReindexReport | undefined> {
  const latest = await log.read('reindex');
  return latest === undefined || latest.endedAt !== undefined ? undefined : loggedReindex(latest);
}

/** Whether somebody came to the end of it, but not to note it. */
async function isDone({ engine }: ReindexingDeps, { build }: ReindexReport): Promise<boolean> {
  return build !== undefined && engine.isLive(build);
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
