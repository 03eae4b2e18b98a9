import type { Logger } from '@kr/telemetry';

export interface Repeated {
  /** Runs it now, unless it is running. */
  nudge(): void;
  /** Starts no further run and waits for the one under way. May be called twice. */
  stop(): Promise<void>;
}

/** Runs the work at once and then again and again, never twice at a time; a run that fails is logged. */
export function repeatedly(
  name: string,
  everyMs: number,
  work: () => Promise<unknown>,
  logger: Logger,
): Repeated {
  let running: Promise<void> | undefined;
  const run = () => {
    running ??= work()
      .then(
        () => {},
        (err: unknown) => logger.warn({ err, work: name }, 'repeated work failed, retrying'),
      )
      .finally(() => {
        running = undefined;
      });
  };
  run();
  const timer = setInterval(run, everyMs);
  return {
    nudge: run,
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
