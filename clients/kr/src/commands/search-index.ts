import { setTimeout as sleep } from 'node:timers/promises';
import type { DescribeIndexResponse__Output, DriftReport__Output, Reindex__Output } from '@kr/contracts';
import { CliError } from '../cli-error.ts';
import { callAsOperator } from '../settings/call-as-operator.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatTimeSpan } from '../terminal/time-span.ts';
import type { AdminOptions } from './context.ts';

const ASK_EVERY_MS = 500;
const DESCRIBE_RETRY_MS = 60_000;

/** `kr admin search status`: what the index is, how far behind, and how right. */
export async function showIndex(terminal: Terminal, { json, dataDirs }: AdminOptions): Promise<void> {
  const index = await describe(dataDirs);
  if (json) return terminal.print(JSON.stringify(statusJson(index), null, 2));
  const rows: [string, string][] = [
    ['engine', index.engine],
    ['documents', index.documents],
    ['filled', index.isFilled ? 'yes' : 'not yet: what has not changed since may be missing'],
    ['events pending', pendingLine(index)],
    ['dead letters', index.deadLetters],
    ['reindex', index.reindex === null ? 'none yet' : reindexLine(index.reindex)],
    ['drift check', index.drift === null ? 'none yet' : driftLine(index.drift)],
  ];
  for (const line of table(rows)) terminal.print(line);
}

/** `kr admin search reindex`: starts it, and waits for its end unless `--no-wait` is given. */
export async function reindex(
  terminal: Terminal,
  { wait, json, dataDirs }: AdminOptions & { wait: boolean },
): Promise<void> {
  await callAsOperator('search', dataDirs, (search, caller) => search.startReindex({}, caller));
  const isOver = ({ reindex }: DescribeIndexResponse__Output) => reindex !== null && reindex.endedAt !== '';
  const index = await awaitIndex(terminal, dataDirs, (state) => !wait || isOver(state));
  if (json) terminal.print(JSON.stringify(reindexJson(index.reindex), null, 2));
  else terminal.print(index.reindex === null ? 'none yet' : reindexLine(index.reindex));
}

/** `kr admin search drift`: waits for a first build, compares, and repairs on request; fails when differences remain. */
export async function checkDrift(
  terminal: Terminal,
  { repair, json, dataDirs }: AdminOptions & { repair: boolean },
): Promise<void> {
  await awaitIndex(terminal, dataDirs, ({ isFilled }) => isFilled);
  const { drift } = await callAsOperator('search', dataDirs, (search, caller) =>
    search.checkDrift({ isRepaired: repair }, caller),
  );
  if (drift === null) throw new CliError('The search service returned no result.');
  if (json) terminal.print(JSON.stringify(driftJson(drift), null, 2));
  else {
    terminal.print(driftLine(drift));
    for (const { problem, kind, id, isDraft } of drift.forms)
      terminal.print(`  ${problem} ${kind} ${id}${isDraft ? ' (draft)' : ''}`);
  }
  const left = differing(drift) - Number(drift.repaired);
  if (left > 0)
    throw new CliError(
      repair
        ? `${left} forms changed during the repair and were skipped. Run the command again.`
        : `${left} forms differ; --repair repairs them.`,
    );
}

/** Shows the progress of a build until the index is in a state. */
async function awaitIndex(
  terminal: Terminal,
  dataDirs: readonly string[],
  isReached: (index: DescribeIndexResponse__Output) => boolean,
): Promise<DescribeIndexResponse__Output> {
  let index = await describePatiently(dataDirs);
  while (!isReached(index)) {
    if (index.reindex !== null) terminal.status(reindexLine(index.reindex));
    await sleep(ASK_EVERY_MS);
    index = await describePatiently(dataDirs);
  }
  terminal.status('');
  return index;
}

function describe(dataDirs: readonly string[]): Promise<DescribeIndexResponse__Output> {
  return callAsOperator('search', dataDirs, (search, caller) => search.describeIndex({}, caller));
}

/** A reindex goes on while the state of the index cannot be read, because the service or NATS is busy or restarting. */
async function describePatiently(dataDirs: readonly string[]): Promise<DescribeIndexResponse__Output> {
  const deadline = Date.now() + DESCRIBE_RETRY_MS;
  for (;;) {
    try {
      return await describe(dataDirs);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(ASK_EVERY_MS);
    }
  }
}

function pendingLine({ pendingEvents, oldestPendingAt }: DescribeIndexResponse__Output): string {
  return oldestPendingAt === '' ? pendingEvents : `${pendingEvents}, the oldest ${ago(oldestPendingAt)}`;
}

function reindexLine({ startedAt, endedAt, documents, expected, problem }: Reindex__Output): string {
  if (endedAt !== '') {
    const tookMs = Date.parse(endedAt) - Date.parse(startedAt);
    const leftOut = problem === '' ? '' : `; ${problem}`;
    return `${documents} documents, finished ${endedAt} after ${formatTimeSpan(tookMs)}${leftOut}`;
  }
  const percent = Math.min(100, Math.floor((Number(documents) / Math.max(1, Number(expected))) * 100));
  const progress = `running since ${formatTimeSpan(Date.now() - Date.parse(startedAt))}: ${documents} of about ${expected} documents, ${percent} %`;
  return problem === '' ? progress : `${progress}; ${problem}`;
}

function driftLine(drift: DriftReport__Output): string {
  const { entities, missing, stale, ghosts, repaired, unreadable, endedAt } = drift;
  const skipped =
    unreadable === '0' ? '' : `, ${unreadable} cannot be read (see the log of the search service)`;
  const found =
    differing(drift) === 0
      ? 'no drift'
      : `${missing} missing, ${stale} stale, ${ghosts} ghosts, ${repaired} repaired`;
  return `${found}; ${entities} entities compared${skipped}, ${endedAt}`;
}

function differing({ missing, stale, ghosts }: DriftReport__Output): number {
  return Number(missing) + Number(stale) + Number(ghosts);
}

function ago(instant: string): string {
  return `${formatTimeSpan(Math.max(0, Date.now() - Date.parse(instant)))} old`;
}

function reindexJson(reindex: Reindex__Output | null) {
  if (reindex === null) return null;
  return {
    started_at: reindex.startedAt,
    ended_at: reindex.endedAt || null,
    documents: Number(reindex.documents),
    expected: Number(reindex.expected),
    problem: reindex.problem || null,
  };
}

function driftJson(drift: DriftReport__Output) {
  return {
    started_at: drift.startedAt,
    ended_at: drift.endedAt,
    entities: Number(drift.entities),
    missing: Number(drift.missing),
    stale: Number(drift.stale),
    ghosts: Number(drift.ghosts),
    repaired: Number(drift.repaired),
    unreadable: Number(drift.unreadable),
    forms: drift.forms.map(({ kind, id, isDraft, problem }) => ({ kind, id, is_draft: isDraft, problem })),
  };
}

function statusJson(index: DescribeIndexResponse__Output) {
  return {
    engine: index.engine,
    documents: Number(index.documents),
    is_filled: index.isFilled,
    pending_events: Number(index.pendingEvents),
    oldest_pending_at: index.oldestPendingAt || null,
    dead_letters: Number(index.deadLetters),
    reindex: reindexJson(index.reindex),
    drift: index.drift === null ? null : driftJson(index.drift),
  };
}
