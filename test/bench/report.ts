import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { median, type Round } from './load.ts';
import type { Comparison } from './paired-rounds.ts';

/** Writes `latest.json` with every round and `latest.md` with the medians; returns the Markdown. */
export function writeReport(folder: string, comparisons: readonly Comparison[], measuredAt: Date): string {
  const machine = measuredMachine();
  const markdown = [
    '# Measurements',
    '',
    `${measuredAt.toISOString().slice(0, 10)}, ${machine.text}.`,
    'Each scenario runs in turn with a bare Express server that sends the same payload on the same Node; medians over the',
    'rounds. The load generator shares the processors, so compare the ratios, first of all processor time.',
    '',
    '| scenario | at once | CPU µs/request | req/s | p50 ms | p99 ms | CPU ÷ bare | req/s ÷ bare | failed |',
    '|---|---|---|---|---|---|---|---|---|',
    ...comparisons.map(row),
    '',
  ].join('\n');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'latest.json'),
    `${JSON.stringify({ measuredAt, machine: machine.facts, comparisons }, null, 2)}\n`,
  );
  writeFileSync(join(folder, 'latest.md'), markdown);
  return markdown;
}

/** The measured machine. */
export function measuredMachine() {
  const facts = {
    processors: cpus().length,
    model: cpus()[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
  const text = `${facts.processors} × ${facts.model}, ${facts.memoryGiB} GiB, Node ${facts.node}`;
  return { facts, text };
}

function row({ scenario, concurrency, ours, ratios }: Comparison): string {
  const figure = (of: (round: Round) => number) => median(ours.map(of));
  const failed = ours.reduce((sum, round) => sum + round.failed, 0);
  const cells = [
    scenario,
    concurrency,
    figure((round) => round.cpuMicrosecondsPerRequest).toFixed(0),
    figure((round) => round.requests / round.seconds).toFixed(0),
    figure((round) => round.p50).toFixed(1),
    figure((round) => round.p99).toFixed(1),
    ratios.cpuPerRequest.toFixed(2),
    ratios.requestsPerSecond.toFixed(3),
    failed,
  ];
  return `| ${cells.join(' | ')} |`;
}
