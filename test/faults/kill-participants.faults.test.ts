import { afterAll, beforeAll, describe, test } from '@jest/globals';
import type { ServiceName } from '@kr/local-stack';
import { seededRandom } from '@kr/testbed';
import { arm } from './kill/armed-part.ts';
import type { KillPlan } from './kill/kill-plans.ts';
import { plansOf, roundsOf } from './kill/kill-rounds.ts';
import { type KillWorld, startKillWorld } from './kill/kill-world.ts';
import { packageWithFiles } from './kill/package-with-files.ts';
import { playRound, publishThrough } from './kill/publish-through.ts';
import { isFull, scaled, seed } from './scale.ts';

const SIZES = isFull ? [1, 10, 100] : [2];
const PAIRS = scaled(2, 200);
const ROUND_MS = 900_000;

let world: KillWorld;
beforeAll(async () => {
  world = await startKillWorld();
});
afterAll(() => world?.stop());

describe('kill -9 of a participant while a package with files is published', () => {
  const plans = plansOf('publish', 'read').filter(({ victim }) => victim !== 'packages');
  const rounds = SIZES.flatMap((size) => roundsOf(plans).map((round) => ({ ...round, size })));
  test.each(rounds)(
    'at $steps, $size resources: all or nothing is published, and nothing is left behind',
    ({ size, ...round }) => playRound(world, round, size),
    ROUND_MS,
  );
});

describe('kill -9 of two services in one publication', () => {
  const choose = seededRandom(seed);
  const oneOf = (victim: ServiceName): KillPlan => {
    const candidates = plansOf('publish').filter((plan) => plan.isPlain && plan.victim === victim);
    const chosen = candidates[Math.floor(choose() * candidates.length)];
    if (chosen === undefined) throw new Error(`no point of ${victim}`);
    return chosen;
  };
  const pairs = Array.from({ length: PAIRS }, (_, index) => {
    const size = 1 + Math.floor(choose() * 5);
    return { index, size, coordinator: oneOf('packages'), participant: oneOf('records') };
  });
  test.each(pairs)(
    `$index: at $coordinator.point and $participant.point, $size resources (seed ${seed})`,
    async ({ size, coordinator, participant }) => {
      const { system, author, count } = world;
      const title = `Killed at ${coordinator.point} and ${participant.point}`;
      const one = await packageWithFiles(author, title, size, { isSound: true });
      const [first, second] = await Promise.all([
        arm(system, 'packages', coordinator.orders),
        arm(system, 'records', participant.orders),
      ]);
      await publishThrough(world, one, { dying: first, points: [coordinator.point], answer: 202 });
      count((await second.deaths()).length === 0 ? 'packages died alone' : 'packages and records died');
    },
    ROUND_MS,
  );
});
