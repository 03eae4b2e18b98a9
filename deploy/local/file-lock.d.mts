/**
 * Whether this process has the lock `file` now: nobody had it, or a process that is gone. Without `unlock` it keeps the lock
 * until it ends. The folder must exist.
 */
export function tryLock(file: string): boolean;
/** Releases a lock of this process; others stay. */
export function unlock(file: string): void;
/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean;
