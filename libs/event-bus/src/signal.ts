/** Wakes all current waiters. Notifications are counted, so that none is missed between a check and the wait after it. */
export interface Signal {
  notify(): void;
  /** The number of notifications so far. Read it before the check, and pass it to `wait` afterwards. */
  readonly count: number;
  /**
   * Resolves after a notification beyond the first `seen`: true. False after `ms` milliseconds (default: never), or when
   * the signal is aborted.
   */
  wait(seen: number, bounds?: { ms?: number; signal?: AbortSignal }): Promise<boolean>;
}

export function createSignal(): Signal {
  const waiters = new Set<() => void>();
  let count = 0;
  return {
    notify: () => {
      count += 1;
      for (const wake of waiters) wake();
    },
    get count() {
      return count;
    },
    wait: (seen, { ms, signal } = {}) =>
      new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', end);
          waiters.delete(end);
          resolve(count > seen);
        };
        const timer = ms === undefined ? undefined : setTimeout(end, ms);
        signal?.addEventListener('abort', end);
        waiters.add(end);
        if (count > seen || signal?.aborted) end();
      }),
  };
}
