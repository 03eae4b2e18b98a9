/** Instants in milliseconds since the start of the history. */
export type Instant = number;

/**
 * Time that passes only when there is nothing left to do at the present instant, and chance that a seed decides: the
 * same seed makes the same history.
 */
export interface VirtualTime {
  now(): Instant;
  /** Calls back after that many milliseconds. */
  after(ms: number, wake: () => void): void;
  sleep(ms: number): Promise<void>;
  /** Advances time to the instant, or until the condition, checked before every step, holds. */
  runUntil(instant: Instant, isOver?: () => boolean): Promise<void>;
}

const SETTLED = Promise.resolve();

interface Timer {
  readonly at: Instant;
  readonly order: number;
  readonly wake: () => void;
}

export function virtualTime(): VirtualTime {
  let now = 0;
  let order = 0;
  const timers: Timer[] = [];

  const after = (ms: number, wake: () => void): void => {
    order += 1;
    push(timers, { at: now + Math.max(0, ms), order, wake });
  };
  return {
    now: () => now,
    after,
    sleep: (ms) => new Promise((wake) => after(ms, wake)),
    runUntil: (instant, isOver = () => false) =>
      new Promise((resolve, reject) => {
        // A tick queued by a microtask runs when no promise is pending, without an expensive turn of the event loop.
        const tick = (): void => process.nextTick(turn);
        const next = (): void => void SETTLED.then(tick);
        const turn = (): void => {
          try {
            const first = timers[0];
            if (first === undefined || first.at > instant || isOver()) {
              if (first === undefined || first.at > instant) now = instant;
              resolve();
              return;
            }
            pop(timers);
            now = first.at;
            first.wake();
            next();
          } catch (error) {
            reject(error);
          }
        };
        next();
      }),
  };
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Into a binary heap: the next timer is the first. */
function push(heap: Timer[], timer: Timer): void {
  let at = heap.length;
  heap.push(timer);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || !isBefore(timer, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = timer;
}

function pop(heap: Timer[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    let child = heap[below];
    const other = heap[below + 1];
    if (child !== undefined && other !== undefined && isBefore(other, child)) {
      below += 1;
      child = other;
    }
    if (child === undefined || !isBefore(child, last)) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
