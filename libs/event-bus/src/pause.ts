/** Waits that many milliseconds, or until the signal is aborted; never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
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
