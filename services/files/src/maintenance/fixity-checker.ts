import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTransient } from '@kr/service-error';
import { type BlobStore, MissingObject } from '../blob/blob-store.ts';
import type { FilesContext } from '../context.ts';
import {
  type Damage,
  endLease,
  type Finding,
  type LeasedCheck,
  leaseOpenCheck,
  nextObjects,
  renewLease,
  type StoredObject,
  saveFindings,
  startDue,
} from './fixity-store.ts';

/** Delays reading, so that no more bytes pass in a second than are allowed. */
type Pace = (bytes: number, signal: AbortSignal) => Promise<void>;

/** Unused capacity of one second does not carry over to the next. */
const MAX_BURST_MS = 1_000;

function paceOf(bytesPerSecond: number): Pace {
  let isFreeAt = performance.now();
  return async (bytes, signal) => {
    const at = performance.now();
    isFreeAt = Math.max(isFreeAt, at - MAX_BURST_MS) + (bytes / bytesPerSecond) * 1_000;
    if (isFreeAt > at) await sleep(isFreeAt - at, undefined, { signal });
  };
}

const NO_LIMIT: Pace = async () => {};

type FixityCheckerDeps = Pick<FilesContext, 'database' | 'blobs' | 'now' | 'newId' | 'logger' | 'fixity'>;

/** Opening costs a store something too, however small an object is. */
const MIN_BYTES_PER_OBJECT = 16_384;

/**
 * Reads an object again, chunk by chunk; null when it is intact.
 * @throws the error of an unavailable store, which is no damage of the object
 */
async function readObject(
  { blobs, logger }: FixityCheckerDeps,
  object: StoredObject,
  pace: Pace,
  signal: AbortSignal,
): Promise<Damage | null> {
  try {
    await pace(MIN_BYTES_PER_OBJECT, signal);
    return (await isAsStored(blobs, object, pace, signal)) ? null : 'corrupt';
  } catch (error) {
    if (signal.aborted || isTransient(error) || isOfThisProcess(error)) throw error;
    await blobs.check();
    if (error instanceof MissingObject) return 'missing';
    logger.error({ err: error, objectId: object.id }, 'a stored object cannot be read');
    return 'unreadable';
  }
}

async function isAsStored(
  blobs: BlobStore,
  { id, sizeBytes, sha256 }: StoredObject,
  pace: Pace,
  signal: AbortSignal,
): Promise<boolean> {
  const blob = await blobs.open(id);
  if (blob.sizeBytes !== sizeBytes) {
    await blob.close();
    return false;
  }
  const hash = createHash('sha256');
  for await (const chunk of blob.stream()) {
    hash.update(chunk);
    await pace(chunk.length, signal);
    signal.throwIfAborted();
  }
  return hash.digest('hex') === sha256;
}

/** The process or the machine lacks resources for reading: no damage of the object. */
function isOfThisProcess(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'].includes(String(code));
}

export interface FixityChecker {
  /** Works until no check is open, or another process does it. */
  work(): Promise<void>;
  /** Stops the running check; another process continues it. */
  stop(): void;
}

const RENEW_EVERY_MS = 2_000;
const BATCH = 100;
const SAVE_EVERY_MS = 2_000;

/**
 * Verifies all objects: one process at a time, in constant memory. After a crash it continues near its last
 * position.
 */
export function fixityChecker(deps: FixityCheckerDeps): FixityChecker {
  const { database, now, newId, logger, fixity } = deps;
  const stopping = new AbortController();

  const work = async (): Promise<void> => {
    if (fixity.everyMs > 0) await startDue(database, now(), new Date(now().getTime() - fixity.everyMs));
    while (!stopping.signal.aborted) {
      const check = await leaseOpenCheck(database, newId());
      if (check === undefined) return;
      await run(check);
    }
  };

  const run = async (check: LeasedCheck): Promise<void> => {
    const lost = new AbortController();
    const renewal = setInterval(() => {
      renewLease(database, check).then(
        (isLeased) => isLeased || lost.abort(),
        (err: unknown) => logger.warn({ err }, 'the lease of a fixity check was not renewed, retrying'),
      );
    }, RENEW_EVERY_MS);
    let isFinished = false;
    try {
      isFinished = await readAll(check, AbortSignal.any([lost.signal, stopping.signal]));
    } finally {
      clearInterval(renewal);
      await endLease(database, check, isFinished ? now() : null);
    }
  };

  /** Whether it is finished. */
  const readAll = async (check: LeasedCheck, signal: AbortSignal): Promise<boolean> => {
    const pace = check.isUnthrottled ? NO_LIMIT : paceOf(fixity.bytesPerSecond);
    let findings: Finding[] = [];
    let savedAt = performance.now();
    const save = async () => {
      if (findings.length > 0) {
        for (const { id, damage } of await saveFindings(database, check, findings, now()))
          logger.error({ objectId: id, damage }, 'a stored object is damaged');
      }
      findings = [];
      savedAt = performance.now();
    };
    try {
      for (;;) {
        const objects = await nextObjects(database, check, BATCH);
        for (const object of objects) {
          signal.throwIfAborted();
          const damage = await readObject(deps, object, pace, signal);
          findings.push({ id: object.id, damage });
          if (performance.now() - savedAt > SAVE_EVERY_MS) await save();
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
