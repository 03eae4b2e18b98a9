import { setTimeout as sleep } from 'node:timers/promises';
import { type Baseline, startBaseline } from './baseline.ts';
import { cpuMicroseconds } from './cpu-time.ts';
import { type JsonClient, jsonClient } from './json-client.ts';
import { median, type Round, runRound } from './load.ts';
import type { Scenario } from './scenarios/scenario.ts';

/** The rounds of one scenario: ours and the bare server's in turn, so that drift of the machine meets both. */
export interface Comparison {
  scenario: string;
  concurrency: number;
  ours: Round[];
  bare: Round[];
  /** Median over the pairs of ours ÷ bare. */
  ratios: { cpuPerRequest: number; requestsPerSecond: number; p50: number };
}

interface Pairing {
  repository: JsonClient;
  /** The same without a token. */
  visitor: JsonClient;
  /** The processes of the whole system, Postgres and NATS included. */
  pids: () => number[];
  rounds: number;
  seconds: number;
  onRound: (scenario: string, side: 'ours' | 'bare', round: Round) => void;
}

/** Interval of processor measurements in milliseconds; less than that share of one processor is idle. */
const REST_STEP_MS = 500;
const REST_SHARE = 0.1;
const LONGEST_SETTLE_MS = 60_000;

/** Runs one scenario A B A B …; the first pair warms both sides up and is not counted. */
export async function compare(
  scenario: Scenario,
  { repository, visitor, pids, rounds, seconds, onRound }: Pairing,
): Promise<Comparison> {
  const baseline = await startBaseline();
  const ours: Round[] = [];
  const bare: Round[] = [];
  try {
    for (let pair = 0; pair <= rounds; pair += 1) {
      const prepared = await scenario.prepare(repository, visitor);
      await untilAtRest(pids());
      const limit = scenario.requestsPerRound === undefined ? {} : { requests: scenario.requestsPerRound };
      const our = await runRound({
        request: prepared.request,
        concurrency: scenario.concurrency,
        seconds,
        ...limit,
        // Postgres starts processes on demand; the time of ended ones is in their parent's time.
        cpu: () => cpuMicroseconds(pids()),
      });
      const their = await bareRound(baseline, prepared, scenario, seconds);
      if (pair === 0) continue;
      ours.push(our);
      bare.push(their);
      onRound(scenario.name, 'ours', our);
      onRound(scenario.name, 'bare', their);
    }
  } finally {
    baseline.stop();
  }
  const ratio = (figure: (round: Round) => number) =>
    median(ours.map((our, index) => figure(our) / figure(bare[index] ?? our)));
  return {
    scenario: scenario.name,
    concurrency: scenario.concurrency,
    ours,
    bare,
    ratios: {
      cpuPerRequest: ratio((round) => round.cpuMicrosecondsPerRequest),
      requestsPerSecond: ratio((round) => round.requests / round.seconds),
      p50: ratio((round) => round.p50),
    },
  };
}

/** Work left by the preparation, such as indexing, must not be counted. */
export async function untilAtRest(measured: readonly number[]): Promise<void> {
  const end = performance.now() + LONGEST_SETTLE_MS;
  let used = Number.POSITIVE_INFINITY;
  while (used > REST_SHARE * REST_STEP_MS * 1_000 && performance.now() < end) {
    const before = cpuMicroseconds(measured);
    await sleep(REST_STEP_MS);
    used = cpuMicroseconds(measured) - before;
  }
}

async function bareRound(
  baseline: Baseline,
  { payload, method, body }: Awaited<ReturnType<Scenario['prepare']>>,
  { concurrency }: Scenario,
  seconds: number,
): Promise<Round> {
  await baseline.answerWith(payload);
  const client = jsonClient(baseline.url);
  try {
    return await runRound({
      request: () => client.drain(method, '/', body),
      concurrency,
      seconds: Math.min(seconds, 3),
      cpu: () => cpuMicroseconds([baseline.pid]),
    });
  } finally {
    await client.close();
  }
}
