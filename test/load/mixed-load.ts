import { preferring, startReaders } from '../faults/readers.ts';
import { checkHistory } from '../history/check-history.ts';
import { arrive } from './arrivals.ts';
import type { Mix } from './mix.ts';
import { type ProcessFigures, watchProcesses } from './processes.ts';
import { type KindFigures, openTally } from './tally.ts';
import type { World } from './world.ts';

export interface MixedFigures {
  perSecond: number;
  minutes: number;
  kinds: KindFigures[];
  processes: ProcessFigures[];
  warmUpSeconds: number;
  /** Reads of a package and one of its resources at the same time. */
  pairs: number;
  violations: readonly unknown[];
  lost: string[];
  unforeseen: readonly string[];
}

const PUBLISH_SHARE = 0.01;
/** Milliseconds between the polls of publication watchers, rare enough to cost little. */
const LOOK_EVERY_MS = 100;

/** Clients with random arrivals, for the given time, and watchers of publications. */
export async function runMixedLoad(
  { system, recorder, random }: World,
  mix: Mix,
  { perSecond, minutes, say }: { perSecond: number; minutes: number; say: (line: string) => void },
): Promise<MixedFigures> {
  const packages = Math.ceil(perSecond * minutes * 60 * PUBLISH_SHARE * 1.2);
  say(`preparing ${packages} packages to be published …`);
  await mix.stock(packages);
  let lookedAt = 0;
  const readers = startReaders({
    baseUrl: system.baseUrl,
    count: 2,
    recorder,
    firstClient: 1_000_000,
    random,
    next: () => {
      if (performance.now() - lookedAt < LOOK_EVERY_MS) return undefined;
      lookedAt = performance.now();
      return preferring(random, mix);
    },
  });
  const watch = watchProcesses(system.pid);
  const tally = openTally();
  for (let minute = 0; minute < minutes; minute += 1) {
    const seconds = 60 * Math.min(1, minutes - minute);
    await arrive({ perSecond, seconds, begin: () => mix.one(tally) });
    const worst = tally.figures().map(({ kind, p99 }) => `${kind} ${p99.toFixed(0)}`);
    say(`minute ${minute + 1} of ${minutes}: p99 in ms: ${worst.join(', ')}`);
  }
  const warmUpSeconds = 20 * minutes;
  const processes = watch.figures(warmUpSeconds);
  watch.stop();
  await readers.lookAt(mix.published.slice(-20));
  await readers.stop();
  return {
    perSecond,
    minutes,
    kinds: tally.figures(),
    processes,
    warmUpSeconds,
    pairs: readers.pairs,
    violations: checkHistory(recorder.events),
    lost: await mix.lost(),
    unforeseen: [...tally.unforeseen, ...readers.unforeseen],
  };
}
