import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '../load.ts';
import { measuredMachine } from '../report.ts';
import { type AttackFigures, exceeded, MAX_RATIO, ratioOf } from './measure-attacks.ts';

/** Writes `attacks.json` with every round and `attacks.md` with the medians; returns the Markdown. */
export function writeAttackReport(
  folder: string,
  figures: readonly AttackFigures[],
  measuredAt: Date,
): string {
  const machine = measuredMachine();
  const markdown = [
    '# Bystanders of an attack',
    '',
    `${measuredAt.toISOString().slice(0, 10)}, ${machine.text}. Attackers and bystanders share the processors with the system.`,
    'Eight other users send requests at a steady rate, in each round without and then during the attack, with the default limits.',
    `Medians over the rounds, in milliseconds. The measurement fails if p99 during the attack is more than ${MAX_RATIO} × quiet or a request of a bystander fails.`,
    '',
    '| attack | request of bystanders | quiet p50 | p99 | attacked p50 | p99 | p99 attacked ÷ quiet | failed |',
    '|---|---|---|---|---|---|---|---|',
    ...figures.flatMap(rows),
    '',
  ].join('\n');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'attacks.json'),
    `${JSON.stringify({ measuredAt, machine: machine.facts, figures }, null, 2)}\n`,
  );
  writeFileSync(join(folder, 'attacks.md'), markdown);
  return markdown;
}

function rows(figures: AttackFigures): string[] {
  const { attack, rounds } = figures;
  return Object.keys(rounds[0]?.quiet ?? {}).map((operation) => {
    const of = (phase: 'quiet' | 'attacked', figure: 'p50' | 'p99') =>
      median(rounds.map((round) => round[phase][operation]?.[figure] ?? Number.NaN)).toFixed(1);
    const attacked = rounds.map((round) => round.attacked[operation]);
    const failed = attacked.reduce((sum, phase) => sum + (phase?.failed ?? 0), 0);
    const requests = attacked.reduce((sum, phase) => sum + (phase?.requests ?? 0), 0);
    const cells = [
      attack,
      operation,
      of('quiet', 'p50'),
      of('quiet', 'p99'),
      of('attacked', 'p50'),
      of('attacked', 'p99'),
      `${ratioOf(figures, operation).toFixed(1)}${exceeded(figures).includes(operation) ? ' (too much)' : ''}`,
      `${failed} of ${requests}`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
}
