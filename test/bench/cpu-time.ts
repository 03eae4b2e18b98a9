import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second (USER_HZ, proc(5)). */
const TICK_MICROSECONDS = 10_000;

/**
 * Processor time that processes and their waited-for children have used so far, in microseconds. Counts in steps of
 * 10 ms, so measure seconds. A process that is gone counts as zero.
 */
export function cpuMicroseconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ticksOf(pid), 0) * TICK_MICROSECONDS;
}

function ticksOf(pid: number): number {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // Postgres ends idle backends by itself; what they used is in their parent's children time.
    return 0;
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number);
  return (user ?? 0) + (system ?? 0) + (childrenUser ?? 0) + (childrenSystem ?? 0);
}

/** The process and all its descendants; only the process itself if it has ended. */
export function processTree(root: number): number[] {
  return [root, ...childrenOf(root).flatMap(processTree)];
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ').map(Number);
  } catch {
    return [];
  }
}
