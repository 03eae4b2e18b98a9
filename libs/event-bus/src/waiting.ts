import { setTimeout as sleep } from 'node:timers/promises';
import type { Signal } from './signal.ts';

/** Waits that many milliseconds, or until the signal is aborted; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** Milliseconds before the next try after that many failures in a row: 0.2 s doubling to 30 s, with ±20 % jitter. */
export function backOffMs(failures: number): number {
  const ms = Math.min(30_000, 200 * 2 ** Math.min(failures - 1, 10));
  return ms * (0.8 + 0.4 * Math.random());
}

/** Waits for the work, but no longer than that many milliseconds. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work.finally(() => done.abort()), pause(ms, done.signal)]);
}

/** A bounded wait. */
export interface Wait {
  /** Milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Aborted when the timeout of a wait expires, or when its waiter leaves. */
export function endOf({ timeoutMs, signal }: Wait): AbortSignal {
  const timer = AbortSignal.timeout(Math.max(0, Math.ceil(timeoutMs)));
  return signal === undefined ? timer : AbortSignal.any([timer, signal]);
}

const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 50;

/**
 * Polls at once, after every notification, and from time to time because other processes do not notify this one. False
 * when `ending` is aborted first.
 */
export async function pollUntil(
  isReached: () => Promise<boolean>,
  changed: Signal,
  ending: AbortSignal,
): Promise<boolean> {
  for (let ms = FIRST_POLL_MS; !ending.aborted; ms = Math.min(LAST_POLL_MS, ms * 2)) {
    const seen = changed.count;
    if (await isReached()) return true;
    await changed.wait(seen, { ms, signal: ending });
  }
  return false;
}
