import { flushCompileCache } from 'node:module';

/** A service has loaded, migrated and connected by then. */
const AFTER_START_MS = 5_000;
const PERIOD_MS = 30_000;
/**
 * Shares of a core over a period: after work above `BUSY` a cleanup is useful, below `QUIET` it delays no
 * request.
 */
const BUSY = 0.05;
const QUIET = 0.02;

/**
 * Loaded into every process of a local system, which shares a small machine with five others: releases memory
 * that only the start, or a past busy period, needed. Also stores the compiled code for the next start, even if
 * this process is killed.
 */
function releaseMemoryWhenIdle(): void {
  let used = process.cpuUsage();
  let isCluttered = false;
  const period = setInterval(() => {
    const { user, system } = process.cpuUsage(used);
    used = process.cpuUsage();
    const share = (user + system) / 1_000 / PERIOD_MS;
    if (share > BUSY) isCluttered = true;
    if (share > QUIET || !isCluttered) return;
    isCluttered = false;
    releaseMemory();
  }, PERIOD_MS);
  period.unref();
  setTimeout(releaseMemory, AFTER_START_MS).unref();
}

function releaseMemory(): void {
  flushCompileCache();
  // NOTE: there with --expose-gc; this flavour also drops compiled code that ran only once.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

releaseMemoryWhenIdle();
