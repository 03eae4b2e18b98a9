import { execFileSync } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { until } from './until.ts';

/**
 * Ends the process that a file names in its first line, if it is still the one we mean: its command line must contain
 * `mark`. Process ids are reused, so a living id alone proves nothing. Removes the file.
 */
export async function endLeftover(pidFile: string, mark: string, signal: NodeJS.Signals): Promise<void> {
  const text = await readFile(pidFile, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  await endMarked(Number.parseInt(text, 10), mark, signal);
  await rm(pidFile, { force: true });
}

/** Ends one process if it lives and its command line contains `mark`: the signal first, after 3 s SIGKILL. */
export async function endMarked(pid: number, mark: string, signal: NodeJS.Signals): Promise<void> {
  if (!isMarked(pid, mark)) return;
  process.kill(pid, signal);
  const gone = await until(() => !isMarked(pid, mark), { timeoutMs: 3_000 }).catch(() => false);
  if (gone) return;
  process.kill(pid, 'SIGKILL');
  await until(() => !isMarked(pid, mark), { timeoutMs: 3_000, what: `process ${pid} to end` });
}

/** True if the process lives and its command line contains `mark`. */
export function isMarked(pid: number, mark: string): boolean {
  if (!Number.isInteger(pid) || pid <= 1) return false;
  try {
    return execFileSync('ps', ['-o', 'command=', '-ww', '-p', String(pid)], { encoding: 'utf8' }).includes(
      mark,
    );
  } catch {
    return false;
  }
}
