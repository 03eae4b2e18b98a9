import { startSystem } from '@kr/testbed/system';
import { Command } from 'commander';
import { type ModelReport, runModel } from './run-model.ts';

interface Options {
  runs: number;
  commands: number;
  workers: number;
  minutes: number;
  seed: number;
  path?: string;
}

async function main(): Promise<void> {
  const { runs, commands, workers, minutes, seed, path } = new Command('npm run test:model --')
    .description(
      'Runs random commands against the whole system and a reference model side by side, and compares their visible state.',
    )
    .option('--runs <n>', 'runs, each with separate users', Number, 2_000)
    .option('--commands <n>', 'maximum commands of one run, half of it on average', Number, 80)
    .option('--workers <n>', 'runs at the same time', Number, 4)
    .option('--minutes <n>', 'no new run after so long', Number, 60)
    .option(
      '--seed <n>',
      'repeat the same runs (default: random)',
      Number,
      Math.floor(Math.random() * 2 ** 30),
    )
    .option('--path <text>', 'with --seed and --workers 1: the counterexample at this path of a report')
    .parse()
    .opts<Options>();
  await using system = await startSystem();
  const started = Date.now();
  say(`seed ${seed}`);
  let told = 0;
  const report = await runModel(system, {
    runs,
    maxCommands: commands,
    workers,
    timeLimitMs: minutes * 60_000,
    seed,
    ...(path === undefined ? {} : { path }),
    onFailure: (cause) => say(`a run failed and is being shrunk: ${cause}`),
    onProgress: (done) => {
      for (; told < done.counterexamples.length; told += 1)
        process.stdout.write(`\n${done.counterexamples[told]}\n`);
      if (done.runs % 20 === 0) say(line(done, started));
    },
  });
  say(line(report, started));
  if (report.counterexamples.length > 0) process.exitCode = 1;
}

function line({ runs, commands, requests, counterexamples }: ModelReport, started: number): string {
  const seconds = Math.round((Date.now() - started) / 1000);
  return `${runs} runs, ${commands} commands, ${requests} requests, ${counterexamples.length} counterexamples, ${seconds} s`;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

await main();
