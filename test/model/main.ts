import { parseArgs } from 'node:util';
import { startSystem } from '@kr/testbed/system';
import { type ModelReport, runModel } from './run-model.ts';

const HELP = `Runs random commands against the whole system and a reference model side by side, and compares their visible state.

  npm run test:model -- [options]

  --runs N       runs, each with separate users (default 2000)
  --commands N   maximum commands of one run, half of it on average (default 80)
  --workers N    runs at the same time (default 4)
  --minutes N    no new run after so long (default 60)
  --seed N       repeat the same runs (default random)
  --path TEXT    with --seed and --workers 1: the counterexample at this path of a report
  --help         this text
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '2000' },
      commands: { type: 'string', default: '80' },
      workers: { type: 'string', default: '4' },
      minutes: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
      path: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const seed = Number(values.seed);
  await using system = await startSystem();
  const started = Date.now();
  say(`seed ${seed}`);
  let told = 0;
  const report = await runModel(system, {
    runs: Number(values.runs),
    maxCommands: Number(values.commands),
    workers: Number(values.workers),
    timeLimitMs: Number(values.minutes) * 60_000,
    seed,
    ...(values.path === undefined ? {} : { path: values.path }),
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
