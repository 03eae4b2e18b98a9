import { setTimeout as sleep } from 'node:timers/promises';
import type {
  DamagedObject__Output,
  FixityCheck__Output,
  ReadFixityReportResponse__Output,
} from '@kr/contracts';
import { CliError } from '../cli-error.ts';
import { callAsOperator } from '../settings/call-as-operator.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';

export interface VerifyOptions extends AdminOptions {
  /** Starts a check in the background, or continues the open one. */
  start: boolean;
  /** Reads all objects at full speed, waits for the result, and fails if one is damaged. */
  now: boolean;
}

const POLL_EVERY_MS = 1_000;
/** The pause is at least this many times as long as the query, which counts all stored objects. */
const MIN_PAUSE_FACTOR = 10;

/** `kr admin files verify`: prints the results of fixity checks; starts one on request. */
export async function verifyFiles(terminal: Terminal, options: VerifyOptions): Promise<void> {
  const { start, now, json, dataDirs } = options;
  if (start || now) {
    const { id } = await callAsOperator('filesOperations', dataDirs, (files, caller) =>
      files.startFixityCheck({ isUnthrottled: now }, caller),
    );
    if (now) await waitFor(terminal, dataDirs, BigInt(id));
  }
  const report = await read(dataDirs);
  if (json) terminal.print(JSON.stringify(reportJson(report), null, 2));
  else for (const line of lines(report)) terminal.print(line);
  if (now && BigInt(report.damaged) > 0n)
    throw new CliError(`${report.damaged} of ${report.objects} objects are damaged.`);
}

function read(dataDirs: readonly string[]): Promise<ReadFixityReportResponse__Output> {
  return callAsOperator('filesOperations', dataDirs, (files, caller) => files.readFixityReport({}, caller));
}

/** Waits until that check, or a later one, is finished. */
async function waitFor(terminal: Terminal, dataDirs: readonly string[], id: bigint): Promise<void> {
  for (;;) {
    const polledAt = performance.now();
    const { latest, finished } = await read(dataDirs);
    if (finished !== null && BigInt(finished.id) >= id) break;
    if (latest !== null) terminal.status(progressOf(latest));
    await sleep(Math.max(POLL_EVERY_MS, MIN_PAUSE_FACTOR * (performance.now() - polledAt)));
  }
  terminal.status('');
}

function progressOf({ objects, objectsLeft, bytes, bytesLeft }: FixityCheck__Output): string {
  const [done, left] = [Number(bytes), Number(bytesLeft)];
  const percent = done + left === 0 ? 100 : Math.floor((done / (done + left)) * 100);
  const all = Number(objects) + Number(objectsLeft);
  return `verified ${percent} %  ${objects}/${all} objects  ${formatBytes(done)} of ${formatBytes(done + left)}`;
}

function lines(report: ReadFixityReportResponse__Output): string[] {
  const rows: [string, string][] = [
    ['stored', `${report.objects} objects, ${formatBytes(Number(report.bytes))}`],
    ['latest check', report.latest === null ? 'none yet' : checkLine(report.latest)],
    ['oldest verification', oldest(report)],
    ['damaged', report.damaged],
  ];
  if (report.finished !== null && report.finished.id !== report.latest?.id)
    rows.splice(2, 0, ['latest finished', checkLine(report.finished)]);
  return [...table(rows), ...report.damagedObjects.flatMap(damagedLines)];
}

function checkLine(check: FixityCheck__Output): string {
  const started = `started ${check.startedAt}`;
  if (check.finishedAt !== '')
    return `${started}, finished ${check.finishedAt}: ${check.objects} objects, ${formatBytes(Number(check.bytes))}, ${check.damaged} damaged`;
  return `${started}, ${check.isRunning ? 'running' : 'waiting for a process'}: ${progressOf(check)}`;
}

function oldest({ objects, neverVerified, oldestVerifiedAt }: ReadFixityReportResponse__Output): string {
  const never = neverVerified === '0' ? '' : `${neverVerified} of ${objects} objects not read again yet`;
  return [oldestVerifiedAt, never].filter(Boolean).join('; ') || 'nothing to verify';
}

function damagedLines({ id, damage, size, damagedAt, verifiedAt, files }: DamagedObject__Output): string[] {
  const since = verifiedAt === '' ? '' : `, intact on ${verifiedAt}`;
  return [
    `  ${damage} ${id} (${formatBytes(Number(size))}), found ${damagedAt}${since}`,
    ...files.map(({ entityId, key }) => `    ${entityId} ${key}`),
  ];
}

function reportJson(report: ReadFixityReportResponse__Output) {
  return {
    objects: Number(report.objects),
    bytes: Number(report.bytes),
    latest: checkJson(report.latest),
    finished: checkJson(report.finished),
    never_verified: Number(report.neverVerified),
    oldest_verified_at: report.oldestVerifiedAt || null,
    damaged: Number(report.damaged),
    damaged_objects: report.damagedObjects.map((one) => ({
      id: one.id,
      damage: one.damage,
      size: Number(one.size),
      damaged_at: one.damagedAt,
      verified_at: one.verifiedAt || null,
      files: one.files.map(({ entityId, key }) => ({ entity_id: entityId, key })),
    })),
  };
}

function checkJson(check: FixityCheck__Output | null) {
  if (check === null) return null;
  return {
    id: Number(check.id),
    started_at: check.startedAt,
    finished_at: check.finishedAt || null,
    is_running: check.isRunning,
    objects: Number(check.objects),
    bytes: Number(check.bytes),
    damaged: Number(check.damaged),
    objects_left: Number(check.objectsLeft),
    bytes_left: Number(check.bytesLeft),
  };
}
