import type { Logger } from '@kr/telemetry';
import { pauseUnlessStopped } from '../consume/pause-unless-stopped.ts';
import type { OperationLog } from './operation-log.ts';
import { messageOf, type ReindexDeps, reindex } from './reindex.ts';
import { withLock } from './with-lock.ts';

export interface ReindexingDeps extends ReindexDeps {
  databaseUrl: string;
  log: OperationLog;
  logger: Logger;
}

/** After which another process takes over from one that is gone. */
const LOOK_EVERY_MS = 5_000;

/** Does what `StartReindex` has asked for, here or in a process that is gone; until the signal. */
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
  const { databaseUrl, log, logger } = deps;
  if (!(await isWanted(log))) return;
  await withLock(databaseUrl, 'reindex', async (lock) => {
    // Who held the lock before may have come to the end meanwhile.
    if (!(await isWanted(log))) return;
    const isFinished = await reindex(deps, lock, signal, (progress) => log.note('reindex', progress)).catch(
      async (error: unknown) => {
        await log.note('reindex', { problem: `it is begun again: ${messageOf(error)}` });
        throw error;
      },
    );
    if (!isFinished) return;
    await log.close('reindex');
    logger.info('the index was built anew');
  });
}

async function isWanted(log: OperationLog): Promise<boolean> {
  const latest = await log.read('reindex');
  return latest !== undefined && latest.endedAt === undefined;
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
