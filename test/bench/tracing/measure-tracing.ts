import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningStack, SERVICES, startStack } from '@kr/local-stack';
import { cpuMicroseconds } from '../cpu-time.ts';
import { type JsonClient, jsonClient } from '../json-client.ts';
import { median, runRound } from '../load.ts';
import { untilAtRest } from '../paired-rounds.ts';
import type { Scenario } from '../scenarios/scenario.ts';

/** The share of requests that is traced. */
export const TRACED_SHARE = 0.1;

/** Rounds before the first that counts, of which the first is traced wholly. */
const WARMING = 2;

/** More often than usual, which is 5000, for a round is over only when it has sent what it recorded. */
const SEND_EVERY_MS = 2_000;

/** Any recorded trace: the gateway follows the caller's decision. */
const RECORDED = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };

/** One round: processor time of the six services for a request, in microseconds. */
export interface TracingRound {
  requests: number;
  failed: number;
  seconds: number;
  traced: number;
  untraced: number;
}

/** One scenario with a share of its requests traced, and without. */
export interface TracingCost {
  scenario: string;
  rounds: TracingRound[];
}

interface Measured {
  folder: string;
  rounds: number;
  seconds: number;
  say: (line: string) => void;
}

/**
 * Two systems do the same concurrently: each request goes to both, and the next one when both have answered. So both
 * have equally many answers within the same seconds, and other load of the machine affects both.
 */
export async function measureTracing(
  scenarios: readonly (() => Scenario)[],
  { folder, rounds, seconds, say }: Measured,
): Promise<TracingCost[]> {
  const collector = await startSink();
  const sides: Side[] = [];
  try {
    const traced = await openSide(join(folder, 'traced'), tracingTo(collector.url), say);
    sides.push(traced);
    const untraced = await openSide(join(folder, 'untraced'), {}, say);
    sides.push(untraced);
    const costs: TracingCost[] = [];
    for (const make of scenarios)
      costs.push(await measureScenario(make, { traced, untraced }, { rounds, seconds, say }));
    if (collector.requests() === 0) throw new Error('no trace was sent');
    return costs;
  } finally {
    await Promise.all(sides.map((side) => side.close()));
    collector.stop();
  }
}

/** Processor time with tracing ÷ without, of each round. */
export function ratiosOf({ rounds }: TracingCost): number[] {
  return rounds.map(({ traced, untraced }) => traced / untraced);
}

interface Sides {
  traced: Side;
  untraced: Side;
}

async function measureScenario(
  make: () => Scenario,
  sides: Sides,
  { rounds, seconds, say }: Omit<Measured, 'folder'>,
): Promise<TracingCost> {
  const scenarios = { traced: make(), untraced: make() };
  const cost: TracingCost = { scenario: scenarios.traced.name, rounds: [] };
  say(`${cost.scenario} …`);
  for (let round = -WARMING; round < rounds; round += 1) {
    // The code path of recorded requests must be compiled too before it is measured.
    const { traced } = sides;
    const asking = round === -WARMING ? traced.recorded : traced.asking;
    const ran = await runOnBoth(scenarios, { ...sides, traced: { ...traced, asking } }, seconds);
    if (round >= 0) cost.rounds.push(ran);
  }
  say(`  processor time, traced ÷ untraced: ${median(ratiosOf(cost)).toFixed(3)}`);
  return cost;
}

async function runOnBoth(
  scenarios: { traced: Scenario; untraced: Scenario },
  { traced, untraced }: Sides,
  seconds: number,
): Promise<TracingRound> {
  const pair = await Promise.all([
    scenarios.traced.prepare(traced.asking.repository, traced.asking.visitor),
    scenarios.untraced.prepare(untraced.asking.repository, untraced.asking.visitor),
  ]);
  await untilAtRest([...traced.pids(), ...untraced.pids()]);
  const { concurrency, requestsPerRound } = scenarios.traced;
  const before = [cpuMicroseconds(traced.pids()), cpuMicroseconds(untraced.pids())] as const;
  const {
    requests,
    failed,
    seconds: lasted,
  } = await runRound({
    request: async () => {
      // The second system finds more waiting work when it wakes, and does more at once.
      pair.reverse();
      const answers = await Promise.allSettled(pair.map(({ request }) => request()));
      for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
    },
    concurrency,
    seconds,
    ...(requestsPerRound !== undefined && { requests: requestsPerRound }),
  });
  await sleep(SEND_EVERY_MS);
  await untilAtRest([...traced.pids(), ...untraced.pids()]);
  const each = (used: number): number => used / Math.max(1, requests);
  return {
    requests,
    failed,
    seconds: lasted,
    traced: each(cpuMicroseconds(traced.pids()) - before[0]),
    untraced: each(cpuMicroseconds(untraced.pids()) - before[1]),
  };
}

interface Clients {
  repository: JsonClient;
  visitor: JsonClient;
}

interface Side {
  asking: Clients;
  /** Those whose every request is recorded. */
  recorded: Clients;
  /** Of the services: what databases use is the same for both. */
  pids(): number[];
  close(): Promise<void>;
}

async function openSide(
  dataDir: string,
  tracing: Record<string, string>,
  say: (line: string) => void,
): Promise<Side> {
  const stack: RunningStack = await startStack({
    dataDir,
    port: 0,
    logLevel: 'error',
    durability: 'safe',
    environment: { ...process.env, RATE_LIMIT_ANONYMOUS: '0', RATE_LIMIT_USER: '0', ...tracing },
    onProgress: say,
  });
  const { token } = await stack.createUser('bench');
  const clients = (headers: Record<string, string>): Clients => ({
    repository: jsonClient(stack.baseUrl, token, headers),
    visitor: jsonClient(stack.baseUrl, undefined, headers),
  });
  const asking = clients({});
  const recorded = clients(RECORDED);
  return {
    asking,
    recorded,
    pids: () => SERVICES.flatMap((service) => stack.pid(service) ?? []),
    close: async () => {
      await Promise.all(
        [asking, recorded]
          .flatMap(({ repository, visitor }) => [repository, visitor])
          .map((client) => client.close()),
      );
      await stack.stop();
    },
  };
}

function tracingTo(url: string): Record<string, string> {
  return {
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(TRACED_SHARE),
    OTEL_BSP_SCHEDULE_DELAY: String(SEND_EVERY_MS),
  };
}

/** A collector that keeps nothing; its processor time is not that of the system. */
async function startSink(): Promise<{ url: string; requests(): number; stop(): void }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume().once('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    requests: () => requests,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
