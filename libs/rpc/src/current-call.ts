import { AsyncLocalStorage } from 'node:async_hooks';

interface CurrentCall {
  deadlineMs: number;
  /** Work that continues after the answer no longer has the deadline of the call. */
  isAnswered: boolean;
  afterwards: (() => void)[];
}

const currentCall = new AsyncLocalStorage<CurrentCall | undefined>();

/** Handles one call: calls made meanwhile inherit its deadline. */
export function whileHandling<T>(deadlineMs: number, work: () => Promise<T>): Promise<T> {
  const call: CurrentCall = { deadlineMs, isAnswered: false, afterwards: [] };
  return currentCall.run(call, async () => {
    try {
      return await work();
    } finally {
      call.isAnswered = true;
      for (const release of call.afterwards) release();
    }
  });
}

/** The deadline of the call being handled, as milliseconds since the epoch; infinite if no call is being handled. */
export function inheritedDeadlineMs(): number {
  const call = currentCall.getStore();
  return call === undefined || call.isAnswered ? Number.POSITIVE_INFINITY : call.deadlineMs;
}

/** Runs work without the deadline of the call being handled. */
export function detached<T>(work: () => T): T {
  return currentCall.run(undefined, work);
}

/** Runs `release` when the call being handled has ended, at once if there is none. */
export function afterCall(release: () => void): void {
  const call = currentCall.getStore();
  if (call === undefined || call.isAnswered) release();
  else call.afterwards.push(release);
}
