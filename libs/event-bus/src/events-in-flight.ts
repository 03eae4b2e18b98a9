import { createSignal } from './signal.ts';

export type EventsInFlight = ReturnType<typeof eventsInFlight>;

/** The events delivered to this process, by their positions in the stream. */
export function eventsInFlight(now: () => number) {
  const inProgress = new Set<number>();
  const deferredUntil = new Map<number, number>();
  /** Notified when events were acknowledged. */
  const changed = createSignal();
  return {
    changed,
    add: (position: number) => {
      inProgress.add(position);
      deferredUntil.delete(position);
    },
    /** It failed and will be redelivered; `whenCaughtUp` does not wait for it. */
    defer: (position: number, delayMs: number) => void deferredUntil.set(position, now() + delayMs),
    /** They were acknowledged, positively or negatively. */
    release: (positions: readonly number[]) => {
      for (const position of positions) inProgress.delete(position);
      changed.notify();
    },
    releaseAll: () => inProgress.clear(),
    /** Current positions; failed events that await redelivery are `deferred`. */
    snapshot: () => {
      // After its delay it may be redelivered to another process.
      for (const [position, until] of deferredUntil) if (until <= now()) deferredUntil.delete(position);
      return { inProgress: new Set(inProgress), deferred: new Set(deferredUntil.keys()) };
    },
  };
}
