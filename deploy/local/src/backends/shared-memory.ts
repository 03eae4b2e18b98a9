import { readFileSync } from 'node:fs';

/** True if a System V shared memory segment still has processes attached to it (Linux; elsewhere unknown, so false). */
export function isSharedMemoryInUse(id: string): boolean {
  const row = readTable()
    .map((line) => line.trim().split(/\s+/))
    .find((columns) => columns[1] === id);
  return row !== undefined && Number(row[6]) > 0;
}

/** Columns: key, shmid, perms, size, cpid, lpid, nattch, … (source: proc(5)). */
function readTable(): string[] {
  try {
    return readFileSync('/proc/sysvipc/shm', 'utf8').split('\n');
  } catch {
    return [];
  }
}
