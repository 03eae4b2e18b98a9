import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measuredMachine } from '../report.ts';
import type { CorpusRound } from './corpus-round.ts';
import type { CorpusMeasurements } from './measure-corpus.ts';

/** Writes `corpus-<engine>.json` and `corpus-<engine>.md`; returns the Markdown. */
export function writeCorpusReport(folder: string, measured: CorpusMeasurements, measuredAt: Date): string {
  const machine = measuredMachine();
  const { records, seed, engine, rounds, builds, failures } = measured;
  const markdown = [
    `# Measurements of search over ${records} records`,
    '',
    `${measuredAt.toISOString().slice(0, 10)}, ${machine.text}, ${engine}. Generated records (seed ${seed}), one request at a time, through the`,
    'whole system, with the token of a user, so that no answer is cached. The client shares the processors.',
    '',
    '| what | requests | p50 ms | p99 ms | failed |',
    '|---|---|---|---|---|',
    ...rounds.map(row),
    '',
    '| building the index | documents | seconds | documents a second |',
    '|---|---|---|---|',
    ...builds.map(
      ({ name, documents, seconds }) =>
        `| ${name} | ${documents} | ${seconds.toFixed(0)} | ${(documents / seconds).toFixed(0)} |`,
    ),
    '',
    ...failures.map(({ name, reason }) => `Not measured: ${name}, which failed: ${reason}.\n`),
  ].join('\n');
  mkdirSync(folder, { recursive: true });
  const name = `corpus-${engine}`;
  writeFileSync(
    join(folder, `${name}.json`),
    `${JSON.stringify({ measuredAt, machine: machine.facts, ...measured }, null, 2)}\n`,
  );
  writeFileSync(join(folder, `${name}.md`), markdown);
  return markdown;
}

function row({ name, requests, p50, p99, failed }: CorpusRound): string {
  return `| ${name} | ${requests} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${failed} |`;
}
