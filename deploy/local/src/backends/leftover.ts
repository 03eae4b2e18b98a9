import { readFile, rm } from 'node:fs/promises';
import { commandLine } from './process-table.ts';
import { until } from './until.ts';

/**
 * Ends the process that a file names in its first line, if it is still the one we mean: its command line must contain
 * `mark`. Process ids are reused, so a living id alone proves nothing. Removes the file.
 */
export async function endLeftover(pidFile: string, mark: string, signal: NodeJS.Signals): Promise<void> {
  const text = await readFile(pidFile, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const pid = Number.parseInt(text, 10);
  await endProcess(pid, () => commandLine(pid)?.includes(mark) === true, signal);
  await rm(pidFile, { force: true });
}

/**
 * Sends a signal to a process that is not our child, and after 3 s SIGKILL, as long as `isIt` confirms its
 * identity.
 */
export async function endProcess(pid: number, isIt: () => boolean, signal: NodeJS.Signals): Promise<void> {
  if (!isIt()) return;
  process.kill(pid, signal);
  const gone = await until(() => !isIt(), { timeoutMs: 3_000 }).catch(() => false);
  if (gone) return;
  process.kill(pid, 'SIGKILL');
  await until(() => !isIt(), { timeoutMs: 3_000, what: `process ${pid} to end` });
}
