import { flushCompileCache } from 'node:module';

/** By then a service has done what it does once only: loading, migrating, connecting. */
const AFTER_MS = 5_000;

/**
 * Loaded into every service of a local system: gives back the memory that only its start needed, and keeps the compiled
 * code for the next start even if this process is killed.
 */
function settle(): void {
  flushCompileCache();
  // NOTE: there with --expose-gc; this flavour also drops compiled code that ran only once.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

setTimeout(settle, AFTER_MS).unref();
