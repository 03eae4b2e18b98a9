import { randomUUID } from 'node:crypto';
import type { TestSystem } from '@kr/testbed/system';
import fc from 'fast-check';
import { httpClient } from '../e2e/story/http-client.ts';
import { COMMANDS } from './commands.ts';
import {
  compareOwnListings,
  comparePackageListings,
  compareSearch,
  compareVersions,
  compareWorlds,
  realSystem,
} from './real-system.ts';
import { allItems, type World } from './reference-model.ts';

export interface ModelRuns {
  runs: number;
  /** The most commands of one run; half of it on average. */
  maxCommands: number;
  seed: number;
  /** The path of a counterexample in the seed, from its report. */
  path?: string;
  replayPath?: string;
  /** Concurrent runs, each with separate users. */
  workers: number;
  timeLimitMs: number;
  onProgress?: (done: ModelReport) => void;
  /** Called for a failed run before it is shrunk, which may take long. */
  onFailure?: (cause: unknown) => void;
}

export interface ModelReport {
  runs: number;
  commands: number;
  requests: number;
  /** Each with the command that replays it. */
  counterexamples: string[];
}

/** Runs random commands against the system and the model side by side until they differ or all runs are done. */
export async function runModel(system: TestSystem, options: ModelRuns): Promise<ModelReport> {
  const { runs, workers, seed, onProgress } = options;
  const report: ModelReport = { runs: 0, commands: 0, requests: 0, counterexamples: [] };
  const work = async (worker: number): Promise<void> => {
    const details = await fc.check(propertyOf(system, options, report), {
      seed: seed + worker,
      numRuns: Math.ceil(runs / workers),
      interruptAfterTimeLimit: options.timeLimitMs,
      ...(options.path === undefined ? {} : { path: options.path }),
    });
    if (!details.failed) return;
    const again = `replay with --seed ${details.seed} --path ${details.counterexamplePath} --workers 1`;
    const cause = details.errorInstance instanceof Error ? details.errorInstance.message : '';
    report.counterexamples.push(`${fc.defaultReportMessage(details)}\n${cause}\n${again}`);
    onProgress?.(report);
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  return report;
}

function propertyOf(
  system: TestSystem,
  { maxCommands, replayPath, onProgress, onFailure }: ModelRuns,
  report: ModelReport,
) {
  const commands = fc.commands(COMMANDS, {
    maxCommands,
    size: 'max',
    ...(replayPath === undefined ? {} : { replayPath }),
  });
  let hasFailed = false;
  return fc.asyncProperty(fc.noBias(commands), async (steps) => {
    const world: World = { families: [] };
    const real = realSystem(await newClients(system));
    let count = 0;
    const counted = function* () {
      for (const step of steps) {
        count += 1;
        yield step;
      }
    };
    try {
      await fc.asyncModelRun(() => ({ model: world, real }), counted());
      await compareAll(world, real);
    } catch (cause) {
      if (!hasFailed) onFailure?.(cause);
      hasFailed = true;
      throw cause;
    } finally {
      report.runs += 1;
      report.commands += count;
      report.requests += real.requests;
      onProgress?.(report);
    }
  });
}

async function newClients(system: TestSystem) {
  const mark = randomUUID().slice(0, 13);
  const [ada, ben] = await Promise.all(['ada', 'ben'].map((name) => system.createUser(`${name}-${mark}`)));
  return {
    ada: httpClient(system.baseUrl, ada?.token),
    ben: httpClient(system.baseUrl, ben?.token),
    nobody: httpClient(system.baseUrl),
  };
}

/** At the end of a run everything is read again, whether or not the model has changed it. */
async function compareAll(world: World, real: ReturnType<typeof realSystem>): Promise<void> {
  real.expectedBefore = new Map();
  await compareWorlds(world, real);
  await compareOwnListings(world, real);
  await compareSearch(world, real, 'nobody');
  for (const item of allItems(world)) {
    await compareVersions(real, item, item.family.owner);
    if (item.family.kind === 'packages') await comparePackageListings(world, real, item, item.family.owner);
  }
}
