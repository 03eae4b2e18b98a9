import { pauseUnlessStopped } from '../consume/pause-unless-stopped.ts';
import { type CheckDriftDeps, checkDrift } from './check-drift.ts';

/** How often it is looked whether a check is due: another process, or an operator, may have made one. */
const LOOK_EVERY_MS = 60_000;

/** Compares the index with the services as often as told, whichever process does it; until the signal. */
export async function keepChecking(
  deps: CheckDriftDeps,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await pauseUnlessStopped(Math.min(everyMs, LOOK_EVERY_MS), signal);
    if (signal.aborted) return;
    try {
      if (await isDue(deps, everyMs)) await checkDrift(deps, false, signal);
    } catch (error) {
      if (!signal.aborted) deps.logger.warn({ err: error }, 'the index was not compared, trying later');
    }
  }
}

async function isDue({ engine, log, now }: CheckDriftDeps, everyMs: number): Promise<boolean> {
  if (!(await engine.isFilled())) return false;
  const latest = await log.read('drift');
  return latest !== undefined && now().getTime() - latest.begunAt.getTime() >= everyMs;
}
