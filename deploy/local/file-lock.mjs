// A lock between processes of one machine, without dependencies: it is needed before any package is installed.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const RETRY_MS = 200;

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
    removeDead(file);
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

/** Several processes may find the same dead lock. One that moved a newer, living lock away puts it back. */
function removeDead(file) {
  if (isAlive(ownerOf(file))) return;
  const aside = `${file}.${process.pid}.dead`;
  try {
    renameSync(file, aside);
    if (isAlive(ownerOf(aside))) linkSync(aside, file);
  } catch (thrown) {
    if (thrown.code !== 'ENOENT' && thrown.code !== 'EEXIST') throw thrown;
  } finally {
    rmSync(aside, { force: true });
  }
}

function release(file) {
  if (ownerOf(file) === process.pid) rmSync(file, { force: true });
}

/** 0 if there is no lock. */
function ownerOf(file) {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch (thrown) {
    if (thrown.code === 'ENOENT') return 0;
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
