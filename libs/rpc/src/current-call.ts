import { AsyncLocalStorage } from 'node:async_hooks';

interface CurrentCall {
  deadlineMs: number;
  /** Work may go on after the answer; the deadline of the call is none of its concern then. */
  isAnswered: boolean;
  afterwards: (() => void)[];
}

const currentCall = new AsyncLocalStorage<CurrentCall | undefined>();

/** Handles one call: what is called meanwhile inherits its deadline. */
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

/** The deadline of the call being handled, as milliseconds since the epoch; infinite when there is none. */
export function inheritedDeadlineMs(): number {
  const call = currentCall.getStore();
  return call === undefined || call.isAnswered ? Number.POSITIVE_INFINITY : call.deadlineMs;
}

/** Runs work that a handler starts but that must not end with the handler's deadline. */
export function detached<T>(work: () => T): T {
  return currentCall.run(undefined, work);
}

/** Runs `release` when the call being handled has ended, at once if there is none. */
export function afterCall(release: () => void): void {
  const call = currentCall.getStore();
  if (call === undefined || call.isAnswered) release();
  else call.afterwards.push(release);
}
