import { arrive } from './arrivals.ts';
import type { Mix } from './mix.ts';
import { type KindFigures, openTally, type Tally } from './tally.ts';
import type { Answered } from './timed-client.ts';

/** Clients that each wait for an answer before the next request: enough to saturate the system. */
const BUSY = 32;
const PUBLISH_SHARE = 0.01;

/** How many successes of the mix there are in a second when it always has enough to do. */
export async function measureCapacity(
  mix: Mix,
  seconds: number,
): Promise<{ perSecond: number; tally: Tally }> {
  await mix.stock(Math.ceil(seconds * 5));
  await keepAsking(mix, Math.min(5, seconds), openTally());
  const tally = openTally();
  const began = performance.now();
  await keepAsking(mix, seconds, tally);
  return { perSecond: tally.good / ((performance.now() - began) / 1_000), tally };
}

async function keepAsking(mix: Mix, seconds: number, tally: Tally): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  const person = async () => {
    while (performance.now() < end) await mix.one(tally);
  };
  await Promise.all(Array.from({ length: BUSY }, person));
}

export interface OverloadFigures {
  peakPerSecond: number;
  offeredPerSecond: number;
  goodPerSecond: number;
  refusals: { count: number; p50: number; p99: number; withoutRetryAfter: number };
  /** Seconds after the overload until the mix at half of the peak was answered as well as before. */
  recoverySeconds: number;
  kinds: KindFigures[];
  unforeseen: readonly string[];
}

const TIMES = 3;
const LONGEST_RECOVERY_SECONDS = 60;
/** Seconds of measurement after an overload. */
const JUDGED_SECONDS = 2;

/** Offers three times what the system can do, and looks how much of it is done, what becomes of the rest, and for how long. */
export async function measureOverload(
  mix: Mix,
  peakPerSecond: number,
  seconds: number,
): Promise<OverloadFigures> {
  const offeredPerSecond = TIMES * peakPerSecond;
  await mix.stock(Math.ceil(offeredPerSecond * seconds * PUBLISH_SHARE * 0.5));
  const tally = openTally();
  const began = performance.now();
  let doneInTime = 0;
  const counted: Pick<Tally, 'note'> = {
    note: (kind, answered) => {
      tally.note(kind, answered);
      if (isGood(answered) && performance.now() - began <= seconds * 1_000) doneInTime += 1;
    },
  };
  const offered = arrive({
    perSecond: offeredPerSecond,
    seconds,
    begin: () => mix.one(counted as Tally),
  });
  await offered;
  const recoverySeconds = await recovery(mix, peakPerSecond / 2);
  const times = tally.refusals.map(({ took }) => took).toSorted((a, b) => a - b);
  return {
    peakPerSecond,
    offeredPerSecond,
    goodPerSecond: doneInTime / seconds,
    refusals: {
      count: times.length,
      p50: times[Math.floor(times.length / 2)] ?? 0,
      p99: times[Math.floor(times.length * 0.99)] ?? 0,
      withoutRetryAfter: tally.refusals.filter(({ retryAfter }) => retryAfter === undefined).length,
    },
    recoverySeconds,
    kinds: tally.figures(),
    unforeseen: tally.unforeseen,
  };
}

const RECOVERED_P99_MS = 250;

/** Seconds until a stretch of half the load is answered in full, and as fast as it has to be. */
async function recovery(mix: Mix, perSecond: number): Promise<number> {
  const began = performance.now();
  for (;;) {
    const waited = (performance.now() - began) / 1_000;
    const tally = openTally();
    await arrive({ perSecond, seconds: JUDGED_SECONDS, begin: () => mix.one(tally) });
    const reads = tally.figures().find(({ kind }) => kind === 'read');
    const isWell = tally.refusals.length === 0 && (reads?.p99 ?? 0) <= RECOVERED_P99_MS;
    if (isWell || waited > LONGEST_RECOVERY_SECONDS) return waited;
  }
}

function isGood({ status }: Answered): boolean {
  return status >= 200 && status < 300;
}
