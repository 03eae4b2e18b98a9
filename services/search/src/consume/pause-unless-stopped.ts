import { setTimeout as pause } from 'node:timers/promises';

/** So many milliseconds, or less where it is to stop. */
export async function pauseUnlessStopped(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal }).catch(() => undefined);
}
