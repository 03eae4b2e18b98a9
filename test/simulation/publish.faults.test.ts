import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { seed as firstSeed, isFull, scaled } from '../faults/scale.ts';
import { MUTANTS } from './mutants.ts';
import { type History, runHistory } from './run-history.ts';
import type { Variation } from './variation.ts';

const HISTORIES = scaled(75, 10_000);
const HOUR_MS = 3_600_000;
/** Detected by few histories, possibly none of the short form. */
const RARE = new Set([
  'an unknown decision counts as undecided',
  '"undecided" is remembered for a second',
  '"aborted" is answered without being written',
]);

/** Events that every run with faults must contain: without them a rare path is not tested. */
const SOMETIMES = [
  'broken connections',
  'commits whose reply was lost',
  'crashes',
  'edits acknowledged',
  'files: prepared to aborted',
  'files: prepared to applied',
  'files: unheard of to aborted',
  'edits answered conflict',
  'lock waits',
  'messages cut off',
  'messages delayed',
  'messages lost',
  'messages repeated',
  'pauses',
  'publications aborted',
  'publications accepted',
  'publications committed',
  'publications taken over while ABORTED',
  'publications taken over while COMMITTED',
  'publications taken over while PREPARING',
  'publications undelivered',
  'published again',
  'reads answered unavailable',
  'records: prepared to aborted',
  'records: prepared to applied',
  'records: unheard of to aborted',
  ...(isFull
    ? [
        'lock time-outs',
        'publications aborted for a participant',
        'records: unheard of to refused',
        'transactions ended by the server',
      ]
    : []),
];

interface Batch {
  readonly counts: Record<string, number>;
  readonly broken: readonly string[];
}

const stackTraceLimit = Error.stackTraceLimit;
beforeAll(() => {
  // A history throws hundreds of errors whose stacks are not used.
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

async function run(hasFaults: boolean): Promise<Batch> {
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + HISTORIES && broken.length < 3; seed += 1) {
    const { trace } = await runHistory({ seed, hasFaults });
    for (const [what, count] of Object.entries(trace.counts)) counts[what] = (counts[what] ?? 0) + count;
    if (trace.violations.length > 0) broken.push(await scheduleOf(seed, hasFaults));
    await breathe();
  }
  if (isFull) process.stdout.write(`${summary(hasFaults, counts)}\n`);
  return { counts, broken };
}

/** The same history again, with its whole schedule. */
async function scheduleOf(seed: number, hasFaults: boolean): Promise<string> {
  return inWords(await runHistory({ seed, hasFaults }, true));
}

function inWords({ plan, trace }: History): string {
  const { seed, faults, times, limits } = plan;
  return [
    `seed ${seed}: ${trace.violations.join('; ')}`,
    JSON.stringify({ faults, times, limits }),
    ...trace.lines,
  ].join('\n');
}

function summary(hasFaults: boolean, counts: Record<string, number>): string {
  const each = Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = each.map(([what, count]) => `  ${what}: ${count} (${(count / HISTORIES).toFixed(2)} each)`);
  return [`${HISTORIES} histories with${hasFaults ? ' all' : 'out'} faults`, ...lines].join('\n');
}

/** Yields to the event loop, which a history does not use. */
function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('publishing in a simulated world', () => {
  test(
    'keeps the guarantees with delayed messages and concurrent clients',
    async () => {
      const { broken } = await run(false);
      expect(broken).toEqual([]);
    },
    HOUR_MS,
  );

  test(
    'keeps the guarantees while processes die and pause, messages are lost and repeated, connections break',
    async () => {
      const { counts, broken } = await run(true);
      expect(broken).toEqual([]);
      expect(SOMETIMES.filter((what) => counts[what] === undefined)).toEqual([]);
      expect((counts['crashes'] ?? 0) / HISTORIES).toBeGreaterThanOrEqual(scaled(1, 4));
    },
    HOUR_MS,
  );

  test('has the same history for the same seed', async () => {
    const [one, other] = [await scheduleOf(firstSeed, true), await scheduleOf(firstSeed, true)];
    expect(other).toBe(one);
  });
});

describe('the checker finds a violation when', () => {
  const mutants = MUTANTS.filter(({ name }) => isFull || !RARE.has(name));

  test.each(mutants.map((mutant): [string, Variation] => [mutant.name, mutant]))(
    '%s',
    async (name, variation) => {
      const killed = await killer(variation);
      expect(killed).toBeDefined();
      if (isFull) process.stdout.write(`${name}: ${killed}\n`);
    },
    HOUR_MS,
  );

  async function killer(variation: Variation): Promise<string | undefined> {
    const most = scaled(500, 10_000);
    for (let at = 0; at < most; at += 1) {
      const { trace } = await runHistory({ seed: firstSeed + at, hasFaults: at % 2 === 0, variation });
      if (trace.violations.length > 0) return `${at + 1} histories: ${trace.violations[0]}`;
      await breathe();
    }
    return undefined;
  }
});
