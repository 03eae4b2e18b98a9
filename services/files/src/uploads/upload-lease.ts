import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceError } from '@kr/service-error';
import type { FilesContext } from '../context.ts';
import { noSuchUpload, UPLOAD, type Upload, uploadExists, uploadInUse } from './upload.ts';

/** Longer than the pauses of a busy process. After a crash other requests wait as long. */
export const LEASE_MS = 6_000;
const RENEW_EVERY_MS = 500;
const POLL_EVERY_MS = 100;
const MAX_WAIT_MS = 10_000;

type LeaseDeps = Pick<FilesContext, 'database' | 'logger'>;

/** The exclusive right to write to an upload, in any process. */
export interface UploadLease {
  holder: string;
  /** Calls back once, with the error for the writer: another request waits for the lease, or the upload is deleted. */
  onRequested(stop: (reason: ServiceError) => void): void;
  /** @throws ServiceError `conflict` (`upload_in_use`): the lease may have expired */
  assertValid(): void;
  /** Ends it by a change that also does something else. If that fails it must still be released. */
  endBy<Outcome>(change: () => Promise<Outcome>): Promise<Outcome>;
  /** Once or twice. */
  release(): Promise<void>;
}

/** An upload and the lease that allows this request to change it. */
export interface LeasedUpload {
  upload: Upload;
  lease: UploadLease;
}

// All by the clock of the database, which all writers share.
const ACQUIRE = `
  update upload set lease_holder = $4, is_requested = false, lease_until = now() + interval '${LEASE_MS} milliseconds'
  where id = $1 and entity_id = $2 and key = $3 and (lease_holder is null or lease_until < now())
  returning ${UPLOAD}`;
const REQUEST = 'update upload set is_requested = true where id = $1 and entity_id = $2 and key = $3';
const RENEW = `
  update upload set lease_until = now() + interval '${LEASE_MS} milliseconds' where id = $1 and lease_holder = $2
  returning is_requested as "isRequested"`;
const RELEASE = `
  update upload set lease_holder = null, lease_until = null, is_requested = false where id = $1 and lease_holder = $2`;

/**
 * Waits for the lease of an upload; its holder is notified and stops between two chunks.
 * @throws ServiceError - `not_found`: no such upload - `conflict` (`upload_in_use`): the writer does not stop in time
 */
export async function acquireLease(
  deps: LeaseDeps,
  { id, entityId, key }: Pick<Upload, 'id' | 'entityId' | 'key'>,
  holder: string,
): Promise<LeasedUpload> {
  const { database } = deps;
  const until = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const since = performance.now();
    const [upload] = await database.$queryRawUnsafe<Upload[]>(ACQUIRE, id, entityId, key, holder);
    if (upload !== undefined) return { upload, lease: startLease(deps, { id, holder, since }) };
    if ((await database.$executeRawUnsafe(REQUEST, id, entityId, key)) === 0) throw noSuchUpload();
    if (performance.now() > until) throw uploadInUse();
    await sleep(POLL_EVERY_MS);
  }
}

/** A lease that was acquired at `since` (`performance.now()`), and is renewed until it is released. */
export function startLease(
  { database, logger }: LeaseDeps,
  { id, holder, since }: { id: string; holder: string; since: number },
): UploadLease {
  let validUntil = since + LEASE_MS;
  let stop: ((reason: ServiceError) => void) | undefined;
  let renewing: Promise<void> | undefined;
  let isEnded = false;

  const renew = async () => {
    const sentAt = performance.now();
    const [row] = await database.$queryRawUnsafe<{ isRequested: boolean }[]>(RENEW, id, holder);
    validUntil = row === undefined ? 0 : sentAt + LEASE_MS;
    if (row?.isRequested === false || stop === undefined) return;
    const reason = (await uploadExists(database, id)) ? uploadInUse() : noSuchUpload();
    // The work may have ended meanwhile.
    const stopWriter = stop;
    stop = undefined;
    stopWriter?.(reason);
  };
  const timer = setInterval(() => {
    renewing ??= renew()
      .catch((err: unknown) => logger.warn({ err, upload: id }, 'lease not renewed, retrying'))
      .finally(() => {
        renewing = undefined;
      });
  }, RENEW_EVERY_MS);

  return {
    holder,
    onRequested: (callback) => {
      stop = callback;
    },
    assertValid: () => {
      if (performance.now() >= validUntil) throw uploadInUse();
    },
    endBy: async (change) => {
      clearInterval(timer);
      stop = undefined;
      const outcome = await change();
      isEnded = true;
      return outcome;
    },
    release: async () => {
      clearInterval(timer);
      stop = undefined;
      await renewing;
      if (isEnded) return;
      await database.$executeRawUnsafe(RELEASE, id, holder).catch((err: unknown) =>
        // The lease expires; the request's result matters more.
        logger.warn({ err, upload: id }, 'lease not released'),
      );
    },
  };
}
