/** Wakes one sleeper. A ring while nobody sleeps is remembered, so none is lost between a look and a sleep. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring, an earlier unheard one included, or after `ms` milliseconds; tells whether it rang. */
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
