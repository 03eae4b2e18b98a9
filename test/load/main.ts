import { Command, InvalidArgumentError } from 'commander';
import { positiveNumber } from '../bench/positive-number.ts';
import { measureCapacity, measureOverload } from './capacity.ts';
import { measureHerd } from './herd.ts';
import { openMix } from './mix.ts';
import { runMixedLoad } from './mixed-load.ts';
import { type LoadFigures, writeLoadReport } from './report-load.ts';
import { measureSlowDependencies, SLOWED_EDGES } from './slow-dependency.ts';
import { measureStartAndIdle } from './start-and-idle.ts';
import { openWorld } from './world.ts';

const PARTS = ['overload', 'mixed', 'slow', 'herd', 'start'] as const;
type Part = (typeof PARTS)[number];

const HELP = `
The system is started for it on free loopback ports, with fsync on, and removed afterwards. Each upload of the mixed load
leaves 1 MiB on the disk meanwhile. Linux only: processes are read from /proc.`;

interface Options {
  only?: ReadonlySet<Part>;
  minutes: number;
  seconds: number;
  clients: number;
  out: string;
}

const SLOW_SECONDS = 5;
const IDLE_SECONDS = 60;

async function main(): Promise<void> {
  const {
    only: parts = new Set(PARTS),
    minutes,
    seconds,
    clients,
    out,
  } = new Command('npm run load --')
    .description('Load tests: normal load, overload, slow dependencies, reconnecting clients.')
    .option(
      '--only <list>',
      `of ${PARTS.join(', ')} (default: all); mixed measures the peak first, too`,
      chosen,
    )
    .option('--minutes <n>', 'duration of the mixed load', positiveNumber, 2)
    .option('--seconds <n>', 'duration of the peak measurement and of the overload', positiveNumber, 20)
    .option('--clients <n>', 'clients that reconnect at once', positiveNumber, 500)
    .option('--out <dir>', 'folder of load.md and load.json', 'bench/results')
    .addHelpText('after', HELP)
    .parse()
    .opts<Options>();
  const figures: LoadFigures = {};
  if (parts.has('overload') || parts.has('mixed')) await measureMix(figures, parts, { minutes, seconds });
  if (parts.has('slow')) figures.slow = await measureSlow();
  if (parts.has('herd')) {
    say(`${clients} clients reconnect at once …`);
    await using world = await openWorld();
    figures.herd = await measureHerd(world, clients);
  }
  if (parts.has('start')) figures.start = await measureStartAndIdle(IDLE_SECONDS, say);
  process.stdout.write(`${writeLoadReport(out, figures, new Date())}\n`);
}

async function measureMix(
  figures: LoadFigures,
  parts: ReadonlySet<Part>,
  { minutes, seconds }: { minutes: number; seconds: number },
): Promise<void> {
  say('preparing what is read and changed …');
  await using world = await openWorld();
  const mix = await openMix({ ...world, token: world.system.token });
  await world.client.warmUp();
  say('measuring the peak …');
  const { perSecond, tally } = await measureCapacity(mix, seconds);
  say(
    `${perSecond.toFixed(0)} successes a second, ${tally.refusals.length} refusals; ${tally.unforeseen.join('; ')}`,
  );
  if (parts.has('mixed')) {
    figures.mixed = await runMixedLoad(world, mix, { perSecond: perSecond / 2, minutes, say });
  }
  if (parts.has('overload')) {
    say('three times too much …');
    figures.overload = await measureOverload(mix, perSecond, seconds);
  }
}

async function measureSlow() {
  say('one connection after the other becomes slow …');
  await using world = await openWorld({ proxied: SLOWED_EDGES });
  return await measureSlowDependencies(world, SLOW_SECONDS, say);
}

function chosen(list: string): ReadonlySet<Part> {
  const names = list.split(',').map((name) => name.trim());
  const parts = PARTS.filter((part) => names.includes(part));
  const unknown = names.filter((name) => !parts.some((part) => part === name));
  if (unknown.length > 0) throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}.`);
  return new Set(parts);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

await main();
