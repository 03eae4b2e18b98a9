import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { median, type Round } from '../load.ts';
import { measuredMachine } from '../report.ts';
import { MAX_RATIO, type PageCost, ratioOf } from './measure-pages.ts';

/** Writes `pages.json` with every round and `pages.md` with the medians; returns the Markdown. */
export function writePagesReport(folder: string, costs: readonly PageCost[], measuredAt: Date): string {
  const machine = measuredMachine();
  const markdown = [
    '# What pages cost',
    '',
    `${measuredAt.toISOString().slice(0, 10)}, ${machine.text}.`,
    'Each page is requested in turn with the JSON of the same content, by visitors; that of a package is its document and the list of its',
    'resources. Processor time is that of the whole system, in microseconds for a request; medians over the rounds. A page must not cost more',
    `than ${MAX_RATIO} times its JSON.`,
    '',
    '| page | page µs | JSON µs | page ÷ JSON | page p50 ms | JSON p50 ms | failed |',
    '|---|---|---|---|---|---|---|',
    ...costs.map(row),
    '',
  ].join('\n');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'pages.json'),
    `${JSON.stringify({ measuredAt, machine: machine.facts, costs }, null, 2)}\n`,
  );
  writeFileSync(join(folder, 'pages.md'), markdown);
  return markdown;
}

function row(cost: PageCost): string {
  const { name, page, json } = cost;
  const cpu = (rounds: readonly Round[]) =>
    median(rounds.map((round) => round.cpuMicrosecondsPerRequest)).toFixed(0);
  const p50 = (rounds: readonly Round[]) => median(rounds.map((round) => round.p50)).toFixed(1);
  const failed = [...page, ...json].reduce((sum, round) => sum + round.failed, 0);
  const cells = [name, cpu(page), cpu(json), ratioOf(cost).toFixed(2), p50(page), p50(json), failed];
  return `| ${cells.join(' | ')} |`;
}
