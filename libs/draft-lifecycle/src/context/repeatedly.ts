export interface Repeated {
  /** Waits for the current run, and starts no further one. May be called twice. */
  stop(): Promise<void>;
}

/** Runs the work at once, and again `everyMs` milliseconds after each run has ended. */
export function repeatedly(
  everyMs: number,
  work: () => Promise<unknown>,
  failed: (cause: unknown) => void,
): Repeated {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void>;
  const run = async (): Promise<void> => {
    try {
      await work();
    } catch (cause) {
      failed(cause);
    }
    if (isStopped) return;
    timer = setTimeout(() => {
      running = run();
    }, everyMs);
    timer.unref();
  };
  running = run();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
