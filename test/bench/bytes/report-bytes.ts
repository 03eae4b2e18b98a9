import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '../load.ts';
import { measuredMachine } from '../report.ts';
import type { ByteMeasurements } from './measure-bytes.ts';

/** Writes `bytes.json` with every round and `bytes.md` with the medians; returns the Markdown. */
export function writeByteReport(
  folder: string,
  measured: ByteMeasurements & { fileBytes: number },
  measuredAt: Date,
): string {
  const machine = measuredMachine();
  const markdown = [
    '# Measurements of bytes',
    '',
    `${measuredAt.toISOString().slice(0, 10)}, ${machine.text}. Files of ${mebibytes(measured.fileBytes)} MiB.`,
    'Both sides alternately, in the same run, on the same disk; medians over the rounds. The client shares the',
    'processors, so compare the ratios.',
    '',
    '| what | tool | MB/s | the other, MB/s | ÷ |',
    '|---|---|---|---|---|',
    ...measured.speeds.map(({ name, than, ours, theirs, ratio }) =>
      row(name, than, median(ours).toFixed(0), median(theirs).toFixed(0), ratio.toFixed(2)),
    ),
    '',
    '| requests | p99 alone, ms | p99 beside, ms | ÷ | failed |',
    '|---|---|---|---|---|',
    ...measured.latencies.map(({ name, quiet, beside, ratio, failed }) =>
      row(name, median(quiet).toFixed(1), median(beside).toFixed(1), ratio.toFixed(2), failed),
    ),
    '',
    '| at once | MiB each | more memory at most, MiB |',
    '|---|---|---|',
    ...measured.memory.map(({ name, transfers, bytesEach, growth }) =>
      row(`${transfers} ${name}`, mebibytes(bytesEach), grown(growth)),
    ),
    '',
  ].join('\n');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'bytes.json'),
    `${JSON.stringify({ measuredAt, machine: machine.facts, ...measured }, null, 2)}\n`,
  );
  writeFileSync(join(folder, 'bytes.md'), markdown);
  return markdown;
}

function row(...cells: (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}

function grown(growth: Record<string, number>): string {
  return Object.entries(growth)
    .map(([part, bytes]) => `${part} ${mebibytes(bytes)}`)
    .join(', ');
}

function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(0);
}
