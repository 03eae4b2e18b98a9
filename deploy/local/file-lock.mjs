// Locks between processes of one machine, without dependencies: needed before any package is installed.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const RETRY_MS = 200;

/** Runs `work`, which must be synchronous, while no other living process has the lock `file`. */
export function withLock(file, work, { retryMs = RETRY_MS } = {}) {
  mkdirSync(dirname(file), { recursive: true });
  while (!tryLock(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
  const releaseAtExit = () => unlock(file);
  process.once('exit', releaseAtExit);
  try {
    return work();
  } finally {
    process.off('exit', releaseAtExit);
    unlock(file);
  }
}

// `file-lock.d.mts` describes the following three.
export function tryLock(file) {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    return linkTo(own, file) || takeOver(own, file);
  } finally {
    rmSync(own, { force: true });
  }
}

export function unlock(file) {
  if (ownerOf(file) === process.pid) rmSync(file, { force: true });
}

/** The file appears with its content in one step, so no process ever reads a lock without its owner. */
function linkTo(own, file) {
  try {
    linkSync(own, file);
    return true;
  } catch (thrown) {
    if (thrown.code === 'EEXIST') return false;
    throw thrown;
  }
}

/** Replaces the lock of a process that is gone. One process at a time does so: others could replace its new lock. */
function takeOver(own, file) {
  if (isHeld(file)) return false;
  const guard = `${file}.takeover`;
  if (!linkTo(own, guard)) {
    // Only a process that is killed during the following lines leaves a guard behind.
    if (!isHeld(guard)) rmSync(guard, { force: true });
    return false;
  }
  try {
    if (isHeld(file)) return false;
    renameSync(own, file);
    return true;
  } finally {
    rmSync(guard, { force: true });
  }
}

/** Also true when there is no lock: its owner has just released it. */
function isHeld(file) {
  const owner = ownerOf(file);
  return owner === undefined || isAlive(owner);
}

/** Undefined if there is no lock, 0 if it is empty. */
function ownerOf(file) {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch (thrown) {
    if (thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
}

export function isAlive(pid) {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    // The process exists and belongs to another user.
    return thrown.code === 'EPERM';
  }
}
