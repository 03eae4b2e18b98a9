import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '../load.ts';
import { measuredMachine } from '../report.ts';
import { ratiosOf, TRACED_SHARE, type TracingCost, type TracingRound } from './measure-tracing.ts';

/** Writes `tracing.json` with every round and `tracing.md` with the medians; returns the Markdown. */
export function writeTracingReport(folder: string, costs: readonly TracingCost[], measuredAt: Date): string {
  const machine = measuredMachine();
  const markdown = [
    '# What tracing costs',
    '',
    `${measuredAt.toISOString().slice(0, 10)}, ${machine.text}.`,
    `Two systems are sent the same requests at the same time: one records ${TRACED_SHARE * 100} % of them and sends them to a collector, the other runs without the SDK.`,
    'Processor time is that of the six services, in microseconds for a request; medians over the rounds.',
    '',
    '| scenario | traced | untraced | traced ÷ untraced | of single rounds | failed |',
    '|---|---|---|---|---|---|',
    ...costs.map(row),
    '',
  ].join('\n');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'tracing.json'),
    `${JSON.stringify({ measuredAt, machine: machine.facts, costs }, null, 2)}\n`,
  );
  writeFileSync(join(folder, 'tracing.md'), markdown);
  return markdown;
}

function row(cost: TracingCost): string {
  const { scenario, rounds } = cost;
  const cpu = (side: (round: TracingRound) => number) => median(rounds.map(side)).toFixed(0);
  const ratios = ratiosOf(cost);
  const span = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  const failed = rounds.reduce((sum, round) => sum + round.failed, 0);
  const cells = [
    scenario,
    cpu((round) => round.traced),
    cpu((round) => round.untraced),
    median(ratios).toFixed(3),
    span,
    failed,
  ];
  return `| ${cells.join(' | ')} |`;
}
