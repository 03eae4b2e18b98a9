import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { plansOf, roundsOf } from './kill/kill-rounds.ts';
import { type KillWorld, startKillWorld } from './kill/kill-world.ts';
import { playRound } from './kill/publish-through.ts';
import { isFull } from './scale.ts';

const SIZES = isFull ? [1, 10, 100] : [2];
const ROUND_MS = 900_000;

let world: KillWorld;
beforeAll(async () => {
  world = await startKillWorld();
});
afterAll(() => world?.stop());

describe('kill -9 of the coordinator while a package with files is published', () => {
  const plans = plansOf('publish', 'read', 'refused publish').filter(({ victim }) => victim === 'packages');
  const rounds = SIZES.flatMap((size) => roundsOf(plans).map((round) => ({ ...round, size })));
  test.each(rounds)(
    'at $steps, $size resources: all or nothing is published, and nothing is left behind',
    ({ size, ...round }) => playRound(world, round, size),
    ROUND_MS,
  );
});
