import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { runModel } from './run-model.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system?.stop());

test('whatever people do, in whatever order, the system answers as the reference model', async () => {
  const seed = Math.floor(Math.random() * 2 ** 30);
  const report = await runModel(system, {
    runs: 60,
    maxCommands: 80,
    workers: 4,
    seed,
    timeLimitMs: 50_000,
  });
  process.stdout.write(
    `seed ${seed}: ${report.runs} runs, ${report.commands} commands, ${report.requests} requests\n`,
  );
  expect(report.counterexamples).toEqual([]);
});
