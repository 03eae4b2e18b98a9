import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { Database } from '../store/prisma.ts';
import type { Upload } from './upload.ts';
import { noSuchUpload, uploadInUse } from './upload.ts';
import {
  findUpload,
  releaseLease,
  renewLease,
  takeLease,
  type UploadName,
  wantLease,
} from './upload-store.ts';

/** Longer than a process is usually away from its timers; who dies holding one is waited for as long. */
export const LEASE_MS = 6_000;
const RENEW_EVERY_MS = 500;
const ASK_EVERY_MS = 100;
const LONGEST_WAIT_MS = 10_000;

export interface LeaseDeps {
  database: Database;
  logger: Logger;
}

/** The right to be the one who writes to an upload, in any process. */
export interface UploadLease {
  holder: string;
  /**
   * Calls back once, with the error for the writer: another request waits for the lease, or the upload is
   * deleted.
   */
  onWanted(give: (reason: ServiceError) => void): void;
  /** @throws ServiceError `conflict` (`upload_in_use`): the time of the lease may be over */
  assertHeld(): void;
  /** Ends it by a change that does so beside something else. When that fails it is still to be released. */
  endBy<Outcome>(change: () => Promise<Outcome>): Promise<Outcome>;
  /** Once or twice. */
  release(): Promise<void>;
}

/**
 * Waits without polling until an upload has no writer; the present writer is notified and stops between two chunks.
 * @throws ServiceError - `not_found`: no such upload - `conflict` (`upload_in_use`): the writer does not stop in time
 */
export async function acquireLease(
  deps: LeaseDeps,
  name: UploadName,
  holder: string,
): Promise<{ upload: Upload; lease: UploadLease }> {
  const until = performance.now() + LONGEST_WAIT_MS;
  for (;;) {
    const askedAt = performance.now();
    const upload = await takeLease(deps.database, { ...name, leaseHolder: holder, leaseMs: LEASE_MS });
    if (upload !== undefined)
      return { upload, lease: heldLease(deps, { id: name.id, holder, since: askedAt }) };
    if (!(await wantLease(deps.database, name))) throw noSuchUpload();
    if (performance.now() > until) throw uploadInUse();
    await sleep(ASK_EVERY_MS);
  }
}

/** A lease that is held since an instant of `performance.now()`, and is renewed until it is released. */
export function heldLease(
  { database, logger }: LeaseDeps,
  { id, holder, since }: { id: string; holder: string; since: number },
): UploadLease {
  let heldUntil = since + LEASE_MS;
  let give: ((reason: ServiceError) => void) | undefined;
  let renewing: Promise<void> | undefined;
  let isEnded = false;

  const renew = async () => {
    const askedAt = performance.now();
    const state = await renewLease(database, { id, leaseHolder: holder, leaseMs: LEASE_MS });
    heldUntil = state === 'lost' ? 0 : askedAt + LEASE_MS;
    if (state === 'held' || give === undefined) return;
    const isGone = (await findUpload(database, id)) === undefined;
    // The work may have ended meanwhile.
    const notify = give;
    give = undefined;
    notify?.(isGone ? noSuchUpload() : uploadInUse());
  };
  const timer = setInterval(() => {
    renewing ??= renew()
      .catch((err: unknown) => logger.warn({ err, upload: id }, 'lease not renewed, trying on'))
      .finally(() => {
        renewing = undefined;
      });
  }, RENEW_EVERY_MS);

  return {
    holder,
    onWanted: (callback) => {
      give = callback;
    },
    assertHeld: () => {
      if (performance.now() >= heldUntil) throw uploadInUse();
    },
    endBy: async (change) => {
      clearInterval(timer);
      give = undefined;
      const outcome = await change();
      isEnded = true;
      return outcome;
    },
    release: async () => {
      clearInterval(timer);
      give = undefined;
      await renewing;
      if (isEnded) return;
      await releaseLease(database, { id, leaseHolder: holder }).catch((err: unknown) =>
        // The lease expires; the request's result matters more.
        logger.warn({ err, upload: id }, 'lease not released'),
      );
    },
  };
}
