import { setTimeout as sleep } from 'node:timers/promises';
import { type PartName, type RunningStack, SERVICES, startStack } from '@kr/local-stack';
import { processTree } from '../cpu-time.ts';
import { jsonClient } from '../json-client.ts';
import { median, quantile } from '../load.ts';
import { untilAtRest } from '../paired-rounds.ts';
import type { Attack, Bystander, PreparedAttack } from './attack.ts';

/** Maximum factor of the bystanders' p99 during an attack over that without one. */
export const MAX_RATIO = 3;

/** Latencies of one kind of request in one phase, in milliseconds. */
export interface Phase {
  requests: number;
  failed: number;
  p50: number;
  p99: number;
}

export interface AttackRound {
  /** Of each operation of the bystanders. */
  quiet: Record<string, Phase>;
  attacked: Record<string, Phase>;
  /** Requests of the attackers by the status of the answer. */
  attackers: Record<number, number>;
}

export interface AttackFigures {
  attack: string;
  rounds: AttackRound[];
}

interface Measured {
  folder: string;
  rounds: number;
  seconds: number;
  only: string;
  say: (line: string) => void;
}

const BYSTANDERS = 8;
/** Within the rate limit of a user. */
const EVERY_MS = 100;
/** An attack works before bystanders are measured. */
const WARMING_MS = 1_000;

/**
 * Each round measures bystanders without the attack and then during it, so that other load of the machine affects
 * both. The first round is not counted.
 */
export async function measureAttacks(
  attacks: readonly Attack[],
  { folder, rounds, seconds, only, say }: Measured,
): Promise<AttackFigures[]> {
  const figures: AttackFigures[] = [];
  for (const attack of attacks.filter(({ name }) => name.includes(only))) {
    say(`${attack.name} …`);
    const stack = await startStack({
      dataDir: `${folder}/${figures.length}`,
      port: 0,
      logLevel: 'error',
      durability: 'safe',
      environment: process.env,
      onProgress: say,
    });
    try {
      figures.push({
        attack: attack.name,
        rounds: await measureAttack(attack, stack, { rounds, seconds, say }),
      });
    } finally {
      await stack.stop();
    }
  }
  return figures;
}

/** Of one operation: median of the p99 during the attack ÷ median of the p99 without. */
export function ratioOf({ rounds }: AttackFigures, operation: string): number {
  const p99 = (phase: 'quiet' | 'attacked') =>
    median(rounds.map((round) => round[phase][operation]?.p99 ?? Number.NaN));
  return p99('attacked') / p99('quiet');
}

/** Operations whose bystanders were slower than allowed, or of whose requests some failed during the attack. */
export function exceeded(figures: AttackFigures): string[] {
  return Object.keys(figures.rounds[0]?.quiet ?? {}).filter(
    (operation) =>
      !(ratioOf(figures, operation) <= MAX_RATIO) ||
      figures.rounds.some(({ attacked }) => (attacked[operation]?.failed ?? 0) > 0),
  );
}

async function measureAttack(
  attack: Attack,
  stack: RunningStack,
  { rounds, seconds, say }: Pick<Measured, 'rounds' | 'seconds' | 'say'>,
): Promise<AttackRound[]> {
  const { token } = await stack.createUser('owner');
  const repository = jsonClient(stack.baseUrl, token);
  const prepared = await attack.prepare({ stack, repository, token });
  await repository.close();
  const bystanders = await openBystanders(stack, prepared);
  const measured: AttackRound[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    await untilAtRest(pidsOf(stack));
    const quiet = await measurePhase(bystanders, seconds);
    const running = await prepared.start(round);
    await sleep(WARMING_MS);
    const attacked = await measurePhase(bystanders, seconds);
    await running.stop();
    if (round === 0) continue;
    measured.push({ quiet, attacked, attackers: { ...running.statuses } });
    for (const operation of Object.keys(quiet))
      say(
        `  ${operation}: p99 ${quiet[operation]?.p99.toFixed(1)} ms quiet, ${attacked[operation]?.p99.toFixed(1)} ms attacked, ` +
          `${attacked[operation]?.failed} of ${attacked[operation]?.requests} failed; attackers ${JSON.stringify(running.statuses)}`,
      );
  }
  await Promise.all(bystanders.map(({ client }) => client.close()));
  return measured;
}

interface OpenBystander extends Bystander {
  operation: string;
  request: () => Promise<void>;
}

/** As many for each operation. */
async function openBystanders(stack: RunningStack, { operations }: PreparedAttack): Promise<OpenBystander[]> {
  const opened: OpenBystander[] = [];
  while (opened.length < BYSTANDERS) {
    for (const { name, open } of operations) {
      const { token } = await stack.createUser(`bystander-${opened.length}`);
      const client = jsonClient(stack.baseUrl, token);
      const bystander = { token, client };
      opened.push({ ...bystander, operation: name, request: await open(bystander) });
    }
  }
  return opened;
}

async function measurePhase(
  bystanders: readonly OpenBystander[],
  seconds: number,
): Promise<Record<string, Phase>> {
  const taken: Record<string, number[]> = {};
  const failed: Record<string, number> = {};
  const end = performance.now() + seconds * 1_000;
  await Promise.all(
    bystanders.map(async ({ operation, request }, n) => {
      await sleep((n * EVERY_MS) / bystanders.length);
      while (performance.now() < end) {
        const began = performance.now();
        await request().catch(() => {
          failed[operation] = (failed[operation] ?? 0) + 1;
        });
        const took = performance.now() - began;
        taken[operation] = [...(taken[operation] ?? []), took];
        await sleep(Math.max(0, EVERY_MS - took));
      }
    }),
  );
  return Object.fromEntries(
    Object.entries(taken).map(([operation, latencies]) => {
      const sorted = latencies.toSorted((a, b) => a - b);
      return [
        operation,
        {
          requests: sorted.length,
          failed: failed[operation] ?? 0,
          p50: quantile(sorted, 0.5),
          p99: quantile(sorted, 0.99),
        },
      ];
    }),
  );
}

function pidsOf(stack: RunningStack): number[] {
  const parts: PartName[] = [...SERVICES, 'postgres', 'nats'];
  return parts.flatMap((part) => {
    const pid = stack.pid(part);
    return pid === undefined ? [] : processTree(pid);
  });
}
