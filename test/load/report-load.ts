import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measuredMachine } from '../bench/report.ts';
import type { OverloadFigures } from './capacity.ts';
import type { HerdFigures } from './herd.ts';
import type { MixedFigures } from './mixed-load.ts';
import type { SlowFigures } from './slow-dependency.ts';
import type { StartFigures } from './start-and-idle.ts';
import type { KindFigures } from './tally.ts';

/** The measured parts of a run. */
export interface LoadFigures {
  overload?: OverloadFigures;
  mixed?: MixedFigures;
  slow?: SlowFigures[];
  herd?: HerdFigures;
  start?: StartFigures;
}

/** Writes `load.json` and `load.md`; returns the Markdown. */
export function writeLoadReport(folder: string, figures: LoadFigures, measuredAt: Date): string {
  const machine = measuredMachine();
  const { overload, mixed, slow, herd, start } = figures;
  const markdown = [
    '# Load',
    '',
    `${measuredAt.toISOString().slice(0, 10)}, ${machine.text}. The generator of the load shares the processors with the system.`,
    ...(overload === undefined ? [] : overloadText(overload)),
    ...(mixed === undefined ? [] : mixedText(mixed)),
    ...(slow === undefined ? [] : slowText(slow)),
    ...(herd === undefined ? [] : herdText(herd)),
    ...(start === undefined ? [] : startText(start)),
    '',
  ].join('\n');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'load.json'),
    `${JSON.stringify({ measuredAt, machine: machine.facts, ...figures }, null, 2)}\n`,
  );
  writeFileSync(join(folder, 'load.md'), markdown);
  return markdown;
}

function overloadText({
  peakPerSecond,
  offeredPerSecond,
  goodPerSecond,
  refusals,
  recoverySeconds,
  kinds,
  unforeseen,
}: OverloadFigures): string[] {
  return [
    '',
    '## Three times too much',
    '',
    `Peak of the mix: ${peakPerSecond.toFixed(0)} successes a second. Offered: ${offeredPerSecond.toFixed(0)} a second, at random times. Done in time:`,
    `**${goodPerSecond.toFixed(0)} a second, ${((100 * goodPerSecond) / peakPerSecond).toFixed(0)} % of the peak**. Refused: ${refusals.count}, p50 ${refusals.p50.toFixed(0)} ms,`,
    `p99 ${refusals.p99.toFixed(0)} ms, ${refusals.withoutRetryAfter} without Retry-After. As before after ${recoverySeconds.toFixed(1)} s.`,
    '',
    ...kindTable(kinds),
    ...listed('Unforeseen answers', unforeseen),
  ];
}

function mixedText({
  perSecond,
  minutes,
  kinds,
  processes,
  warmUpSeconds,
  pairs,
  violations,
  lost,
  unforeseen,
}: MixedFigures): string[] {
  return [
    '',
    '## Half of the peak',
    '',
    `${perSecond.toFixed(0)} a second for ${minutes} minutes. Publications: ${pairs} pairs read while they were made, ${violations.length} violations of the history;`,
    `${lost.length} acknowledged writes lost.`,
    '',
    ...kindTable(kinds),
    '',
    `After ${warmUpSeconds.toFixed(0)} s of warm-up:`,
    '',
    '| process | MiB | MiB/min | handles before | after |',
    '|---|---|---|---|---|',
    ...processes.map(
      (one) =>
        `| ${one.part} | ${one.firstMebibytes.toFixed(0)} … ${one.lastMebibytes.toFixed(0)} | ${one.mebibytesPerMinute.toFixed(2)} | ${one.handlesBefore} | ${one.handlesAfter} |`,
    ),
    ...listed('Unforeseen answers', unforeseen),
    ...listed('Lost', lost),
  ];
}

function slowText(slow: readonly SlowFigures[]): string[] {
  return [
    '',
    '## A slow connection',
    '',
    'Half a second more on one connection at a time. p50 in ms, before and with the delay, of the requests that became slower.',
    '',
    '| connection | slower | slower without need | failed | event loops, worst p99 |',
    '|---|---|---|---|---|',
    ...slow.map(({ edge, routes, wronglySlow, worstLoopDelayP99 }) => {
      const slower = routes
        .filter(({ p50, usualP50 }) => p50 - usualP50 > 200)
        .map(({ route, p50, usualP50 }) => `${route} ${usualP50.toFixed(0)} → ${p50.toFixed(0)}`);
      const failed = routes.reduce((sum, route) => sum + route.failed, 0);
      return `| ${edge} | ${slower.join(', ') || '–'} | ${wronglySlow.join(', ') || '–'} | ${failed} | ${worstLoopDelayP99.service} ${worstLoopDelayP99.ms.toFixed(0)} ms |`;
    }),
  ];
}

function herdText(herd: HerdFigures): string[] {
  return [
    '',
    '## Everybody at once',
    '',
    `All services are killed while ${herd.clients} clients are connected. Back after ${herd.systemBackSeconds.toFixed(1)} s; from then on clients were answered`,
    `after p50 ${herd.readyP50.toFixed(1)} s, **p99 ${herd.readyP99.toFixed(1)} s**, with ${herd.refusals} refusals. At Postgres at most ${herd.mostSessions} sessions of`,
    `${herd.allowedSessions} allowed.`,
  ];
}

function startText(start: StartFigures): string[] {
  return [
    '',
    '## Start and rest',
    '',
    `\`npm start\` on an empty folder: **${start.firstSeconds.toFixed(1)} s**; again: **${start.secondSeconds.toFixed(1)} s**. Left alone for ${start.idleSeconds} s:`,
    `**${start.idlePercent.toFixed(1)} % of one processor, ${start.mebibytes.toFixed(0)} MiB** of memory (what is shared counted once).`,
    '',
    '| process | % | MiB |',
    '|---|---|---|',
    ...start.idleOf.map(
      ({ what, percent, mebibytes }) => `| ${what} | ${percent.toFixed(2)} | ${mebibytes.toFixed(0)} |`,
    ),
  ];
}

function kindTable(kinds: readonly KindFigures[]): string[] {
  return [
    '| what | asked | done | 429, 503 | failed | p50 ms | p99 ms |',
    '|---|---|---|---|---|---|---|',
    ...kinds.map(
      ({ kind, asked, answered, refused, failed, p50, p99 }) =>
        `| ${kind} | ${asked} | ${answered} | ${refused} | ${failed} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`,
    ),
  ];
}

function listed(title: string, lines: readonly string[]): string[] {
  return lines.length === 0
    ? []
    : ['', `${title}:`, '', ...lines.slice(0, 10).map((line) => `- \`${line}\``)];
}
