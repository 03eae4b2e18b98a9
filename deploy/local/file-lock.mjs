// A lock between processes of one machine, without dependencies: it is needed before any package is installed.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const RETRY_MS = 200;
/** Much longer than a process takes from reading a lock to replacing it. */
const TAKE_OVER_MS = 300;

/** Runs `work`, which has to be synchronous, while no other living process holds the lock `file`. */
export function withLock(file, work, { retryMs = RETRY_MS } = {}) {
  mkdirSync(dirname(file), { recursive: true });
  while (!acquire(file)) pause(retryMs);
  const releaseAtExit = () => release(file);
  process.once('exit', releaseAtExit);
  try {
    return work();
  } finally {
    process.off('exit', releaseAtExit);
    release(file);
  }
}

/** The file appears with its content in one step (link), so no process ever reads a lock without its owner. */
function acquire(file) {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, file);
    return true;
  } catch (thrown) {
    if (thrown.code !== 'EEXIST') throw thrown;
    return takeOver(file, own);
  } finally {
    rmSync(own, { force: true });
  }
}

/**
 * Replaces the lock of a process that is gone. Several processes may find the same dead lock and replace it one after the
 * other: the last one has it, which all of them see after a pause.
 */
function takeOver(file, own) {
  const owner = ownerOf(file);
  if (owner === undefined || isAlive(owner)) return false;
  renameSync(own, file);
  pause(TAKE_OVER_MS);
  return ownerOf(file) === process.pid;
}

function release(file) {
  if (ownerOf(file) === process.pid) rmSync(file, { force: true });
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

function isAlive(pid) {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown.code === 'EPERM';
  }
}

function pause(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
