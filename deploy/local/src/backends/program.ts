import type { ChildProcess } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { hasEnded } from './attached-process.ts';
import { logTail } from './log-tail.ts';
import { until } from './until.ts';

export type Variables = Readonly<Record<string, string>>;

/** A program that runs until it is stopped, and its readiness check. */
export interface Program {
  name: string;
  logFile: string;
  stopSignal: NodeJS.Signals;
  /** Clears away what an earlier run left; runs before every launch. */
  beforeLaunch?: () => Promise<void>;
  /** With further variables in its environment. */
  launch(further: Variables): ChildProcess;
  isReady(child: ChildProcess): Promise<boolean>;
}

/**
 * Launches a program and waits until it is ready.
 * @param onLaunch is called before the process is ready.
 * @throws Error that names the program, its log file and the last lines of it, when it ends first or takes longer than a minute.
 */
export async function runProgram(
  program: Program,
  onLaunch: (child: ChildProcess) => void = () => undefined,
  further: Variables = {},
): Promise<ChildProcess> {
  await program.beforeLaunch?.();
  const logStart = await stat(program.logFile).then(
    ({ size }) => size,
    () => 0,
  );
  const child = program.launch(further);
  let failure: Error | undefined;
  child.once('error', (thrown) => {
    failure = thrown;
  });
  onLaunch(child);
  const isReady = await until(
    async () =>
      failure !== undefined || hasEnded(child) ? 'over' : (await program.isReady(child)) && 'ready',
    { timeoutMs: 60_000, what: program.name },
  ).catch(() => 'late');
  if (isReady === 'ready') return child;
  const reason = failure?.message ?? (isReady === 'late' ? 'not ready after a minute' : endOf(child));
  const lines = await logTail(program.logFile, logStart);
  throw new Error(
    `${program.name} did not start (${reason}). Its log is ${program.logFile}; the last lines:\n${lines}`,
  );
}

/** How a process ended, for people. */
export function endOf(child: ChildProcess): string {
  return child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`;
}
