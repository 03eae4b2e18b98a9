export type Signal = ReturnType<typeof createSignal>;

/** Wakes all current waiters. Notifications are counted, so that none is missed between a check and the wait after it. */
export function createSignal() {
  const waiters = new Set<() => void>();
  let count = 0;
  return {
    notify: (): void => {
      count += 1;
      for (const wake of waiters) wake();
    },
    /** The number of notifications so far. Read it before the check, and pass it to `wait` afterwards. */
    get count(): number {
      return count;
    },
    /**
     * Resolves after a notification beyond the first `seen`: true. False after `ms` milliseconds (default: never), or when
     * the signal is aborted.
     */
    wait: (seen: number, { ms, signal }: { ms?: number; signal?: AbortSignal } = {}) =>
      new Promise<boolean>((resolve) => {
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
