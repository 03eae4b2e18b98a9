import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ProgramToStart {
  command: string;
  args: readonly string[];
  /** Everything the program prints is appended here. */
  logFile: string;
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  /** Signal that ends the program in good order, and the one it gets when its parent vanishes. */
  stopSignal: NodeJS.Signals;
  /** Another user to run as; requires root. `reach` gives access to folders closed to others. */
  user?: { uid: number; gid: number; reach: boolean };
}

/** True where util-linux `setpriv` can tie a program's life to ours (Linux). */
const canTie: boolean =
  process.platform === 'linux' &&
  spawnSync('setpriv', ['--pdeathsig', 'SIGTERM', 'true'], { stdio: 'ignore' }).status === 0;

/**
 * Starts a program whose output goes to a file. On Linux the kernel ends it when this process dies, however it dies;
 * elsewhere the next start ends what was left behind.
 */
export function spawnAttached(program: ProgramToStart): ChildProcess {
  const log = openSync(program.logFile, 'a', 0o600);
  const [command, args] = canTie
    ? ['setpriv', [...tie(program), program.command, ...program.args]]
    : [program.command, program.args];
  try {
    return spawn(command, args, {
      cwd: program.cwd,
      env: program.env === undefined ? process.env : { ...program.env },
      stdio: ['ignore', log, log],
      detached: true,
      ...(!canTie && program.user !== undefined ? { uid: program.user.uid, gid: program.user.gid } : {}),
    });
  } finally {
    closeSync(log);
  }
}

/** Sends the stop signal, waits up to `graceMs`, then kills. Resolves once the process is gone. */
export async function stopProcess(
  child: ChildProcess,
  signal: NodeJS.Signals,
  graceMs: number,
): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  const inTime = await Promise.race([ended.then(() => true), sleep(graceMs, false, { ref: false })]);
  if (!inTime) {
    child.kill('SIGKILL');
    await ended;
  }
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function tie({ stopSignal, user }: ProgramToStart): string[] {
  const name = stopSignal.replace(/^SIG/, '');
  if (user === undefined) return ['--pdeathsig', name, '--'];
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  // NOTE: without the secure bit access(2) ignores the capability, and initdb uses it to find its postgres.
  const reach = ['--securebits=+no_setuid_fixup', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  return [...identity, ...(user.reach ? reach : []), '--pdeathsig', name, '--'];
}
