import { createSignal, type Signal } from './signal.ts';

/** The events delivered to this process, by their positions in the stream. */
export interface EventsInFlight {
  /** Notified when events were acknowledged. */
  readonly changed: Signal;
  add(position: number): void;
  /** It failed and will be redelivered; `whenCaughtUp` does not wait for it. */
  defer(position: number, delayMs: number): void;
  /** They were acknowledged, positively or negatively. */
  release(positions: readonly number[]): void;
  releaseAll(): void;
  /** Current positions: in progress, and failed ones that await redelivery. */
  snapshot(): { held: ReadonlySet<number>; deferred: ReadonlySet<number> };
}

export function eventsInFlight(now: () => number): EventsInFlight {
  const held = new Set<number>();
  const deferredUntil = new Map<number, number>();
  const changed = createSignal();
  return {
    changed,
    add: (position) => {
      held.add(position);
      deferredUntil.delete(position);
    },
    defer: (position, delayMs) => void deferredUntil.set(position, now() + delayMs),
    release: (positions) => {
      for (const position of positions) held.delete(position);
      changed.notify();
    },
    releaseAll: () => held.clear(),
    snapshot: () => {
      // After its delay it may be redelivered to another process.
      for (const [position, until] of deferredUntil) if (until <= now()) deferredUntil.delete(position);
      return { held: new Set(held), deferred: new Set(deferredUntil.keys()) };
    },
  };
}
