import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PartName, type RunningStack, SERVICES, startStack } from '@kr/local-stack';
import { Command } from 'commander';
import { ATTACKS } from './attacks/index.ts';
import { exceeded, measureAttacks } from './attacks/measure-attacks.ts';
import { writeAttackReport } from './attacks/report-attacks.ts';
import { byteClient } from './bytes/byte-client.ts';
import { byteMeasurementsCalled, measureBytes } from './bytes/measure-bytes.ts';
import { writeByteReport } from './bytes/report-bytes.ts';
import { measureCorpus } from './corpus/measure-corpus.ts';
import { writeCorpusReport } from './corpus/report-corpus.ts';
import { processTree } from './cpu-time.ts';
import { jsonClient } from './json-client.ts';
import { isTooExpensive, measurePages } from './pages/measure-pages.ts';
import { writePagesReport } from './pages/report-pages.ts';
import { type Comparison, compare } from './paired-rounds.ts';
import { positiveNumber } from './positive-number.ts';
import { writeReport } from './report.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { measureTracing } from './tracing/measure-tracing.ts';
import { writeTracingReport } from './tracing/report-tracing.ts';

const HELP = `
The system is started for it on free loopback ports, with fsync on, and removed afterwards. Linux only: processor time
is read from /proc. Transfers need about 35 GiB of disk space.`;

interface Options {
  rounds: number;
  seconds: number;
  only: string;
  corpus?: number;
  tracing: boolean;
  pages: boolean;
  attacks: boolean;
  fileMib: number;
  transferMib: number;
  out: string;
}

const MIB = 1_048_576;

async function main(): Promise<void> {
  const options = new Command('npm run bench --')
    .description(
      'Benchmarks: our endpoints alternately with a bare Express server that sends the same payload, and transfers of bytes alternately with plain tools.',
    )
    .option('--rounds <n>', 'counted pairs of each scenario', positiveNumber, 5)
    .option('--seconds <n>', 'length of a round', positiveNumber, 4)
    .option('--corpus <n>', 'only search, over generated records, for example 100000', positiveNumber)
    .option(
      '--tracing',
      'only the cost of tracing a tenth of the requests, compared with a system without tracing',
      false,
    )
    .option(
      '--pages',
      'only pages, compared with the JSON of the same content; fails above the allowed ratio',
      false,
    )
    .option(
      '--attacks',
      'only the slowdown of bystanders during attacks; fails above the allowed ratio',
      false,
    )
    .option(
      '--only <text>',
      'only measurements with the text in their name; transfers begin with "bytes: "',
      '',
    )
    .option('--file-mib <n>', 'size of the transferred files', positiveNumber, 512)
    .option(
      '--transfer-mib <n>',
      'size of each of the eight transfers whose memory is measured',
      positiveNumber,
      256,
    )
    .option('--out <dir>', 'folder of the results, as JSON and Markdown', 'bench/results')
    .addHelpText('after', HELP)
    .parse()
    .opts<Options>();
  const { rounds, seconds, only, out } = options;
  if (options.attacks) {
    const folder = await mkdtemp(join(tmpdir(), 'kr-bench-'));
    const figures = await measureAttacks(ATTACKS, {
      folder,
      rounds,
      seconds,
      only,
      say,
    }).finally(() => rm(folder, { recursive: true, force: true }));
    process.stdout.write(`${writeAttackReport(out, figures, new Date())}\n`);
    if (figures.length === 0 || figures.some((one) => exceeded(one).length > 0)) process.exitCode = 1;
    return;
  }
  const scenarios = SCENARIOS.map((make) => make()).filter(({ name }) => name.includes(only));
  const ofBytes = byteMeasurementsCalled(only);
  if (scenarios.length + ofBytes.length === 0)
    throw new Error(`no scenario is called anything like "${only}"`);
  const dataDir = await mkdtemp(join(tmpdir(), 'kr-bench-'));
  if (options.tracing) {
    const measured = {
      folder: dataDir,
      rounds,
      seconds,
      say,
    };
    const wanted = SCENARIOS.filter((make) => make().name.includes(only));
    const costs = await measureTracing(wanted, measured).finally(() =>
      rm(dataDir, { recursive: true, force: true }),
    );
    process.stdout.write(`${writeTracingReport(out, costs, new Date())}\n`);
    return;
  }
  const stack = await startStack({
    dataDir,
    port: 0,
    logLevel: 'error',
    durability: 'safe',
    hasPages: options.pages,
    environment: { ...process.env, RATE_LIMIT_ANONYMOUS: '0', RATE_LIMIT_USER: '0' },
    onProgress: say,
  });
  try {
    const { token } = await stack.createUser('bench');
    const repository = jsonClient(stack.baseUrl, token);
    if (options.corpus !== undefined) {
      const measured = await measureCorpus({ stack, repository, records: options.corpus, seconds, say });
      process.stdout.write(`${writeCorpusReport(out, measured, new Date())}\n`);
      if (measured.failures.length > 0) process.exitCode = 1;
      await repository.close();
      return;
    }
    if (options.pages) {
      const costs = await measurePages(stack, { repository, rounds, seconds, say });
      process.stdout.write(`${writePagesReport(out, costs, new Date())}\n`);
      if (costs.some(isTooExpensive)) process.exitCode = 1;
      await repository.close();
      return;
    }
    const visitor = jsonClient(stack.baseUrl);
    const comparisons: Comparison[] = [];
    for (const scenario of scenarios) {
      say(`${scenario.name} …`);
      comparisons.push(
        await compare(scenario, {
          repository,
          visitor,
          pids: () => pidsOf(stack),
          rounds,
          seconds,
          onRound: (_scenario, side, round) =>
            say(
              `  ${side}: ${round.requests} requests, ${round.cpuMicrosecondsPerRequest.toFixed(0)} CPU µs each, ` +
                `p50 ${round.p50.toFixed(1)} ms, p99 ${round.p99.toFixed(1)} ms, ${round.failed} failed`,
            ),
        }),
      );
    }
    if (comparisons.length > 0) process.stdout.write(`${writeReport(out, comparisons, new Date())}\n`);
    if (ofBytes.length > 0) {
      const bytes = byteClient(stack.baseUrl, token);
      const fileBytes = Math.ceil(options.fileMib * MIB);
      const measured = await measureBytes(
        {
          address: { baseUrl: stack.baseUrl, token },
          bytes,
          repository,
          folder: dataDir,
          pids: () => servicePids(stack),
          rounds,
          seconds,
          fileBytes,
          transferBytes: Math.ceil(options.transferMib * MIB),
          say,
        },
        ofBytes,
      );
      bytes.close();
      process.stdout.write(`${writeByteReport(out, { ...measured, fileBytes }, new Date())}\n`);
    }
    await Promise.all([repository.close(), visitor.close()]);
  } finally {
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

function pidsOf(stack: RunningStack): number[] {
  const parts: PartName[] = [...SERVICES, 'postgres', 'nats'];
  return parts.flatMap((part) => {
    const pid = stack.pid(part);
    return pid === undefined ? [] : processTree(pid);
  });
}

function servicePids(stack: RunningStack): Record<string, number> {
  const pids = SERVICES.map((service) => [service, stack.pid(service)] as const);
  return Object.fromEntries(pids.filter((pair): pair is [(typeof pair)[0], number] => pair[1] !== undefined));
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

await main();
