import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The command line of a living process; undefined if no process has this id. */
export function commandLine(pid: number): string | undefined {
  if (!isProcessId(pid)) return undefined;
  const text = readProc(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ') ?? ps(pid, 'command=');
  return text === '' ? undefined : text;
}

/**
 * The start time of a process, which distinguishes it from later ones with the same id.
 * Undefined when no process of that id lives.
 */
export function processIdentity(pid: number): string | undefined {
  if (!isProcessId(pid)) return undefined;
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return ps(pid, 'lstart=');
  // Field 2 may hold spaces and parentheses; field 3 is the state, field 22 the start (source: proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z'
    ? undefined
    : `${readProc('/proc/sys/kernel/random/boot_id')?.trim()}/${fields[19]}`;
}

function isProcessId(pid: number): boolean {
  return Number.isInteger(pid) && pid > 1;
}

function readProc(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function ps(pid: number, column: string): string | undefined {
  try {
    return execFileSync('ps', ['-ww', '-o', column, '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
