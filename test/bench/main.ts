import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type PartName, type RunningStack, SERVICES, startStack } from '@kr/local-stack';
import { processTree } from './cpu-time.ts';
import { jsonClient } from './json-client.ts';
import { type Comparison, compare } from './paired-rounds.ts';
import { writeReport } from './report.ts';
import { SCENARIOS } from './scenarios/index.ts';

const HELP = `Measures our endpoints in turn with a bare Express server that sends the same payload.

  npm run bench -- [options]

  --rounds N      counted pairs of each scenario (default 5)
  --seconds N     length of a round (default 4)
  --only TEXT     only scenarios whose name contains TEXT
  --out DIR       where latest.json and latest.md go (default bench/results)
  --help          this text

The system is started for it on free loopback ports, with fsync on, and removed afterwards. Linux only: processor time
is read from /proc.
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '4' },
      only: { type: 'string', default: '' },
      out: { type: 'string', default: 'bench/results' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const scenarios = SCENARIOS.map((make) => make()).filter(({ name }) => name.includes(values.only));
  if (scenarios.length === 0) throw new Error(`no scenario is called anything like "${values.only}"`);
  const dataDir = await mkdtemp(join(tmpdir(), 'kr-bench-'));
  const stack = await startStack({
    dataDir,
    port: 0,
    logLevel: 'error',
    durability: 'safe',
    environment: { ...process.env, RATE_LIMIT_ANONYMOUS: '0', RATE_LIMIT_USER: '0' },
    onProgress: say,
  });
  try {
    const { token } = await stack.createUser('bench');
    const repository = jsonClient(stack.baseUrl, token);
    const visitor = jsonClient(stack.baseUrl);
    const comparisons: Comparison[] = [];
    for (const scenario of scenarios) {
      say(`${scenario.name} …`);
      comparisons.push(
        await compare(scenario, {
          repository,
          visitor,
          pids: () => pidsOf(stack),
          rounds: positive('--rounds', values.rounds),
          seconds: positive('--seconds', values.seconds),
          onRound: (_scenario, side, round) =>
            say(
              `  ${side}: ${round.requests} requests, ${round.cpuMicrosecondsPerRequest.toFixed(0)} CPU µs each, ` +
                `p50 ${round.p50.toFixed(1)} ms, p99 ${round.p99.toFixed(1)} ms, ${round.failed} failed`,
            ),
        }),
      );
    }
    await Promise.all([repository.close(), visitor.close()]);
    process.stdout.write(`${writeReport(values.out, comparisons, new Date())}\n`);
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

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new Error(`${option} must be a number above 0, not "${text}"`);
  return value;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

await main();
