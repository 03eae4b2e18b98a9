import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { runModel } from './run-model.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system?.stop());

test('whatever people do, in whatever order, the system answers as the reference model', async () => {
  // The same stories every time; `npm run test:model` goes on to others.
  const { counterexamples } = await runModel(system, {
    runs: 30,
    maxCommands: 80,
    workers: 4,
    seed: 1,
    timeLimitMs: 120_000,
  });
  expect(counterexamples).toEqual([]);
});
