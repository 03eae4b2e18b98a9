/** Time that passes only when there is nothing left to do at the present instant. Seeded, so every run can be repeated. */
export interface VirtualTime {
  now(): Date;
  sleep(ms: number): Promise<void>;
  /** A whole number from 0 up to, not including, the bound. */
  below(bound: number): number;
  chance(percent: number): boolean;
  /** Lets time pass until the instant, in milliseconds. */
  runUntil(instant: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly wake: () => void;
}

export function virtualTime(seed: number): VirtualTime {
  let now = 0;
  let order = 0;
  let state = seed % 2_147_483_647 || 1;
  const timers: Timer[] = [];

  const below = (bound: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % bound;
  };
  return {
    now: () => new Date(now),
    sleep: (ms) =>
      new Promise((wake) => {
        order += 1;
        timers.push({ at: now + Math.max(0, ms), order, wake });
      }),
    below,
    chance: (percent) => below(100) < percent,
    async runUntil(instant) {
      for (;;) {
        // Whatever the last wake-up set going runs before time moves on.
        await new Promise((resolve) => setImmediate(resolve));
        timers.sort((a, b) => b.at - a.at || b.order - a.order);
        const next = timers.at(-1);
        if (next === undefined || next.at > instant) break;
        timers.pop();
        now = next.at;
        next.wake();
      }
      now = instant;
    },
  };
}
