/** Wakes one sleeper. A ring without a sleeper is remembered, so none is lost between a poll and a sleep. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring, at once if one was missed, or after `ms` milliseconds; true if it rang. */
  heard(ms?: number): Promise<boolean>;
}

export function createBell(): Bell {
  let hasRung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      hasRung = true;
      wake?.();
    },
    heard: async (ms) => {
      if (!hasRung) {
        await new Promise<void>((resolve) => {
          const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = undefined;
      }
      const rang = hasRung;
      hasRung = false;
      return rang;
    },
  };
}
