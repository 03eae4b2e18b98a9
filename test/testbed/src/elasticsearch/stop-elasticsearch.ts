import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@kr/local-stack/backends';

const STOP_MS = 60_000;

/** Ends the node that a test of the run has started in this folder, if one did. */
export async function stopElasticsearch(folder: string): Promise<void> {
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => ''));
  if (pid > 0 && signal(pid, 'SIGTERM')) {
    const isGone = () => !signal(pid, 0);
    await until(isGone, { timeoutMs: STOP_MS, everyMs: 100 }).catch(() => signal(pid, 'SIGKILL'));
  }
}

/** Whether there was a process to take it. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
