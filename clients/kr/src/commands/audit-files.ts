import { setTimeout as sleep } from 'node:timers/promises';
import type { Audit__Output, DamagedObject__Output, ReadAuditResponse__Output } from '@kr/contracts';
import { CliError } from '../cli-error.ts';
import { callAsOperator } from '../settings/call-as-operator.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';

export interface AuditOptions extends AdminOptions {
  /** Begins one in the background, or lets that go on which is under way. */
  start: boolean;
  /** Reads everything at once, waits for it, and fails when something is not as it was stored. */
  now: boolean;
}

const ASK_EVERY_MS = 1_000;
/** At most one part in this many of the time is spent on queries, which count stored objects. */
const MIN_PAUSE = 10;

/** `kr admin files audit`: the state of stored bytes as they were last read. */
export async function auditFiles(terminal: Terminal, options: AuditOptions): Promise<void> {
  const { start, now, json, dataDirs } = options;
  if (start || now) {
    const { id } = await callAsOperator('filesOperations', dataDirs, (files, caller) =>
      files.startAudit({ isHurried: now }, caller),
    );
    if (now) await waitFor(terminal, dataDirs, BigInt(id));
  }
  const report = await read(dataDirs);
  if (json) terminal.print(JSON.stringify(reportJson(report), null, 2));
  else for (const line of lines(report)) terminal.print(line);
  if (now && BigInt(report.damaged) > 0n)
    throw new CliError(`${report.damaged} of ${report.objects} objects are not as they were stored.`);
}

function read(dataDirs: readonly string[]): Promise<ReadAuditResponse__Output> {
  return callAsOperator('filesOperations', dataDirs, (files, caller) => files.readAudit({}, caller));
}

/** Until that audit, or one that started after it, is finished. */
async function waitFor(terminal: Terminal, dataDirs: readonly string[], id: bigint): Promise<void> {
  for (;;) {
    const askedAt = performance.now();
    const { latest, finished } = await read(dataDirs);
    if (finished !== null && BigInt(finished.id) >= id) break;
    if (latest !== null) terminal.status(progressOf(latest));
    await sleep(Math.max(ASK_EVERY_MS, MIN_PAUSE * (performance.now() - askedAt)));
  }
  terminal.status('');
}

function progressOf({ objects, objectsLeft, bytes, bytesLeft }: Audit__Output): string {
  const [done, left] = [Number(bytes), Number(bytesLeft)];
  const percent = done + left === 0 ? 100 : Math.floor((done / (done + left)) * 100);
  const all = Number(objects) + Number(objectsLeft);
  return `audited ${percent} %  ${objects}/${all} objects  ${formatBytes(done)} of ${formatBytes(done + left)}`;
}

function lines(report: ReadAuditResponse__Output): string[] {
  const rows: [string, string][] = [
    ['stored', `${report.objects} objects, ${formatBytes(Number(report.bytes))}`],
    ['latest audit', report.latest === null ? 'none yet' : auditLine(report.latest)],
    ['oldest verification', oldest(report)],
    ['damaged', report.damaged],
  ];
  if (report.finished !== null && report.finished.id !== report.latest?.id)
    rows.splice(2, 0, ['latest finished', auditLine(report.finished)]);
  return [...table(rows), ...report.damagedObjects.flatMap(damagedLines)];
}

function auditLine(audit: Audit__Output): string {
  const started = `started ${audit.startedAt}`;
  if (audit.finishedAt !== '')
    return `${started}, finished ${audit.finishedAt}: ${audit.objects} objects, ${formatBytes(Number(audit.bytes))}, ${audit.damaged} damaged`;
  return `${started}, ${audit.isRunning ? 'running' : 'waiting for a process'}: ${progressOf(audit)}`;
}

function oldest({ objects, neverVerified, oldestVerifiedAt }: ReadAuditResponse__Output): string {
  const never = neverVerified === '0' ? '' : `${neverVerified} of ${objects} objects not read again yet`;
  return [oldestVerifiedAt, never].filter(Boolean).join('; ') || 'nothing to verify';
}

function damagedLines({ id, damage, size, damagedAt, verifiedAt, files }: DamagedObject__Output): string[] {
  const since = verifiedAt === '' ? '' : `, right on ${verifiedAt}`;
  return [
    `  ${damage} ${id} (${formatBytes(Number(size))}), found ${damagedAt}${since}`,
    ...files.map(({ entityId, key }) => `    ${entityId} ${key}`),
  ];
}

function reportJson(report: ReadAuditResponse__Output) {
  return {
    objects: Number(report.objects),
    bytes: Number(report.bytes),
    latest: auditJson(report.latest),
    finished: auditJson(report.finished),
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

function auditJson(audit: Audit__Output | null) {
  if (audit === null) return null;
  return {
    id: Number(audit.id),
    started_at: audit.startedAt,
    finished_at: audit.finishedAt || null,
    is_running: audit.isRunning,
    objects: Number(audit.objects),
    bytes: Number(audit.bytes),
    damaged: Number(audit.damaged),
    objects_left: Number(audit.objectsLeft),
    bytes_left: Number(audit.bytesLeft),
  };
}
