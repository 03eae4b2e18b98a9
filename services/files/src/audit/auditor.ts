import type { Logger } from '@kr/telemetry';
import type { AuditConfig } from '../config.ts';
import type { Database } from '../store/prisma.ts';
import {
  beginDue,
  type Finding,
  finishAudit,
  type HeldAudit,
  nextObjects,
  releaseAudit,
  renewAudit,
  saveFindings,
  takeAudit,
} from './audit-store.ts';
import { paceOf, UNPACED } from './pace.ts';
import { type ReadObjectDeps, readObject } from './read-object.ts';

export interface AuditorDeps extends ReadObjectDeps {
  database: Database;
  now: () => Date;
  newId: () => string;
  logger: Logger;
  audit: AuditConfig;
}

export interface Auditor {
  /** Works until no audit is left to be done, or another process does it. */
  work(): Promise<void>;
  /** Lets the work under way end at once; the next process goes on where it was. */
  stop(): void;
}

/** Longer than a process is usually away from its timers; who dies in the middle is waited for as long. */
const LEASE_MS = 10_000;
const RENEW_EVERY_MS = 2_000;
const BATCH = 100;
const SAVE_EVERY_MS = 2_000;

/**
 * Reads all objects again and compares them with what was stored: one process at a time, in constant memory, and after
 * an end of any kind from about where it was.
 */
export function auditor(deps: AuditorDeps): Auditor {
  const { database, now, newId, logger, audit } = deps;
  const stopping = new AbortController();

  const work = async (): Promise<void> => {
    if (audit.everyMs > 0) await beginDue(database, now(), audit.everyMs);
    while (!stopping.signal.aborted) {
      const leaseHolder = newId();
      const held = await takeAudit(database, { leaseHolder, leaseMs: LEASE_MS });
      if (held === undefined) return;
      await run(held, leaseHolder);
    }
  };

  const run = async (held: HeldAudit, leaseHolder: string): Promise<void> => {
    const lost = new AbortController();
    const renewal = setInterval(() => {
      renewAudit(database, { id: held.id, leaseHolder, leaseMs: LEASE_MS }).then(
        (isHeld) => isHeld || lost.abort(),
        (err: unknown) => logger.warn({ err }, 'the lease of an audit was not renewed, trying on'),
      );
    }, RENEW_EVERY_MS);
    const signal = AbortSignal.any([lost.signal, stopping.signal]);
    try {
      if (await readAll(held, leaseHolder, signal)) await finishAudit(database, held.id, leaseHolder, now());
    } finally {
      clearInterval(renewal);
      await releaseAudit(database, held.id, leaseHolder);
    }
  };

  /** Whether it came to the end. */
  const readAll = async (held: HeldAudit, leaseHolder: string, signal: AbortSignal): Promise<boolean> => {
    const elapsed = () => performance.now();
    const pace = held.isHurried ? UNPACED : paceOf(audit.bytesPerSecond, elapsed);
    let findings: Finding[] = [];
    let savedAt = elapsed();
    const save = async () => {
      if (findings.length > 0) {
        const damaged = await saveFindings(database, { id: held.id, leaseHolder }, findings, now());
        for (const { id, damage } of damaged)
          logger.error({ objectId: id, damage }, 'a stored object is not what it was');
      }
      findings = [];
      savedAt = elapsed();
    };
    try {
      for (;;) {
        const objects = await nextObjects(database, held.id, BATCH);
        for (const object of objects) {
          signal.throwIfAborted();
          const damage = await readObject(deps, object, pace, signal);
          findings.push({ id: object.id, damage });
          if (elapsed() - savedAt > SAVE_EVERY_MS) await save();
        }
        await save();
        if (objects.length === 0) return true;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      return false;
    } finally {
      await save();
    }
  };

  return { work, stop: () => stopping.abort() };
}
