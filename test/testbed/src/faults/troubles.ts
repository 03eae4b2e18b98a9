import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault.ts';
import type { FaultLog } from './fault-log.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { oneOf, seededRandom } from './seeded-random.ts';

/**
 * A disturbance of a running system. The returned function ends it. If that function waits until the system has recovered,
 * the next disturbance is delayed.
 */
export type Trouble = (random: () => number) => () => void | Promise<void>;

export interface PlannedTrouble {
  /** Milliseconds since the beginning. */
  atMs: number;
  lastsMs: number;
  trouble: Trouble;
}

/**
 * An endless schedule, the same for the same seed. Each period has one trouble, which starts in its first half and lasts at
 * most half a period, so that the system can recover between two.
 */
export function* schedule(
  seed: number,
  { troubles, everyMs }: { troubles: readonly Trouble[]; everyMs: number },
): Generator<PlannedTrouble, never> {
  const random = seededRandom(seed);
  for (let period = 0; ; period += 1) {
    yield {
      atMs: everyMs * (period + random() / 2),
      lastsMs: (everyMs / 2) * random(),
      trouble: oneOf(random, troubles),
    };
  }
}

/** Follows a schedule until it is stopped; then every trouble has ended. `stop` rejects with the error of a trouble. */
export function makeTrouble(
  seed: number,
  given: { troubles: readonly Trouble[]; everyMs: number; log: FaultLog },
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const began = performance.now();
  // A separate stream of numbers, so that troubles do not shift the schedule.
  const random = seededRandom(seed + 1);
  given.log.add(`schedule of seed ${seed}`);
  const until = (ms: number) =>
    sleep(Math.max(0, began + ms - performance.now()), undefined, { signal: stopping.signal }).catch(
      () => undefined,
    );

  const follow = async (): Promise<void> => {
    // A longer recovery delays the rest of the schedule.
    let lateMs = 0;
    for (const { atMs, lastsMs, trouble } of schedule(seed, given)) {
      await until(atMs + lateMs);
      if (stopping.signal.aborted) return;
      const end = trouble(random);
      await until(atMs + lateMs + lastsMs);
      await end();
      lateMs = Math.max(lateMs, performance.now() - began - atMs - lastsMs);
    }
  };
  const following = follow();
  // `stop` reports the failure.
  following.catch(() => undefined);
  return {
    stop: () => {
      stopping.abort();
      return following;
    },
  };
}

/** Troubles for the connections of a proxy. */
export function troublesOf(proxy: FaultProxy): Trouble[] {
  const lasting =
    (fault: (random: () => number) => Fault): Trouble =>
    (random) =>
      proxy.inflict(fault(random));
  return [
    lasting((random) => ({
      kind: 'latency',
      ms: Math.round(100 * random()),
      jitterMs: Math.round(100 * random()),
    })),
    lasting((random) => ({ kind: 'bandwidth', bytesPerSecond: Math.round(2_000 + 50_000 * random()) })),
    lasting(() => ({ kind: 'black hole' })),
    lasting(() => ({ kind: 'black hole', direction: 'to client' })),
    lasting(() => ({ kind: 'refuse' })),
    () => {
      proxy.reset();
      return () => undefined;
    },
    (random) => proxy.cutNext({ direction: 'to client', afterBytes: Math.floor(200 * random()) }),
  ];
}
