import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault.ts';
import type { FaultLog } from './fault-log.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { oneOf, seededRandom } from './seeded-random.ts';

/**
 * Something that can be done to a running system. What it begins ends by the function it answers with; one that waits
 * until the system has recovered puts off what comes next.
 */
export type Trouble = (random: () => number) => () => void | Promise<void>;

export interface PlannedTrouble {
  /** Milliseconds since the beginning. */
  atMs: number;
  lastsMs: number;
  trouble: Trouble;
}

/**
 * Which trouble comes when, without end; the same for the same seed. One in each period, somewhere in its first half and
 * for not longer than the other half, so that the system breathes between two.
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

/** Follows a schedule until it is stopped; then nothing is left inflicted. Stopping fails with what a trouble failed with. */
export function makeTrouble(
  seed: number,
  given: { troubles: readonly Trouble[]; everyMs: number; log: FaultLog },
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const began = performance.now();
  // A stream of numbers of its own: what a trouble draws does not shift the schedule.
  const random = seededRandom(seed + 1);
  given.log.add(`schedule of seed ${seed}`);
  const until = (ms: number) =>
    sleep(Math.max(0, began + ms - performance.now()), undefined, { signal: stopping.signal }).catch(
      () => undefined,
    );

  const follow = async (): Promise<void> => {
    // A recovery that took longer puts off everything that comes after.
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
  // Whoever stops it hears of a failure; until then nobody does.
  following.catch(() => undefined);
  return {
    stop: () => {
      stopping.abort();
      return following;
    },
  };
}

/** What may come over the connections that go through a proxy. */
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
