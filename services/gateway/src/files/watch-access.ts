import { ServiceError } from '@kr/service-error';

/** Repeated authorisation of a running transfer. */
export interface AccessWatch {
  /** Checks again unless the last check is less than a second old. @throws the error of `check` */
  confirm(): Promise<void>;
  stop(): void;
}

/** Milliseconds for which the result of a check is reused. */
const FRESH_MS = 1_000;

/** Kinds of errors with which the check itself failed. The transfer continues until the next check. */
const UNDECIDED: ReadonlySet<string> = new Set(['unavailable', 'rate_limited', 'internal', 'conflict']);

/**
 * Checks credentials and permission of a transfer every `everyMs` milliseconds. The caller has checked both when the transfer
 * began, and calls `confirm` before it ends an upload.
 *
 * @param check throws if access was revoked
 * @param abort aborts the transfer; called at most once
 */
export function watchAccess({
  everyMs,
  check,
  abort,
}: {
  everyMs: number;
  check: () => Promise<void>;
  abort: (reason: ServiceError) => void;
}): AccessWatch {
  let checkedAt = performance.now();
  let isRunning = false;
  const recheck = async () => {
    const startedAt = performance.now();
    await check();
    checkedAt = startedAt;
  };
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    recheck()
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError) || UNDECIDED.has(error.kind)) return;
        clearInterval(timer);
        abort(error);
      })
      .finally(() => {
        isRunning = false;
      });
  }, everyMs);
  return {
    confirm: async () => {
      if (performance.now() - checkedAt > FRESH_MS) await recheck();
    },
    stop: () => clearInterval(timer),
  };
}
