import { describe, expect, test } from '@jest/globals';
import { type Faults, simulatedWorld } from '../testing/simulated-world.ts';
import { virtualTime } from '../testing/virtual-time.ts';

const packages = new Map([
  ['a', ['r1', 'r2']],
  ['b', ['r2', 'r3']],
]);
const harsh: Faults = {
  lossPercent: 6,
  repeatPercent: 10,
  slowestMs: 2_000,
  crashPercent: 3,
  pausePercent: 20,
  deadlineMs: 30_000,
};
const FAULTY_MS = 25_000;
const RECOVERY_MS = 60_000;
const SEEDS = 100;

/** One history: 25 s of clients and faults, then a minute of calm. */
async function history(seed: number, faults: Faults) {
  const time = virtualTime(seed);
  const world = simulatedWorld(time, faults, packages);
  const client = async (): Promise<void> => {
    while (time.now().getTime() < FAULTY_MS) {
      await time.sleep(time.below(3_000));
      if (time.chance(15)) await world.publish('record', `r${1 + time.below(3)}`);
      else await world.publish('package', time.chance(50) ? 'a' : 'b');
    }
  };
  const reader = async (): Promise<void> => {
    while (time.now().getTime() < FAULTY_MS + RECOVERY_MS) {
      await time.sleep(50 + time.below(500));
      world.read(time.chance(50) ? 'a' : 'b');
    }
  };
  const fate = async (): Promise<void> => {
    while (time.now().getTime() < FAULTY_MS) {
      await time.sleep(500);
      if (time.chance(faults.crashPercent)) world.crashOne();
    }
  };
  void client();
  void client();
  void reader();
  void fate();
  await time.runUntil(FAULTY_MS);
  world.calm();
  await time.runUntil(FAULTY_MS + RECOVERY_MS);
  world.checkRest();
  return world;
}

describe('the coordinator in a simulated world', () => {
  test(`breaks no promise in ${SEEDS} histories of crashes, pauses and lost, late and repeated messages`, async () => {
    const total: Record<string, number> = {};
    const broken: object[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      // Where the deadline is short, publications are aborted while their owner pauses.
      const faults = seed % 2 === 0 ? harsh : { ...harsh, deadlineMs: 11_000 };
      const { violations, seen } = await history(seed * 7_919, faults);
      if (violations.length > 0)
        broken.push({ seed: seed * 7_919, faults, violations: violations.slice(0, 3) });
      for (const [name, count] of Object.entries(seen)) total[name] = (total[name] ?? 0) + count;
    }
    expect(broken.slice(0, 3)).toEqual([]);
    // A rare path that no history visited would prove nothing.
    expect(Object.entries(total).filter(([, count]) => count === 0)).toEqual([]);
  });

  test('publishes at the first call when nothing goes wrong', async () => {
    const time = virtualTime(1);
    const world = simulatedWorld(time, harsh, packages);
    world.calm();
    const answer = world.publish('package', 'a');
    await time.runUntil(1_000);
    expect([await answer, world.seen.commits, world.seen.takeovers]).toEqual([true, 1, 0]);
  });
});
