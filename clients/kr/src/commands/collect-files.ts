import type { CollectedBytes__Output } from '@kr/contracts';
import { callAsOperator } from '../settings/call-as-operator.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatTimeSpan } from '../terminal/time-span.ts';
import type { AdminOptions } from './context.ts';

export interface CollectOptions extends AdminOptions {
  /** Without it nothing is removed. */
  apply: boolean;
}

/** `kr admin files collect`: lists unreferenced stored bytes, and removes them with `--apply`. */
export async function collectFiles(
  terminal: Terminal,
  { apply, json, dataDirs }: CollectOptions,
): Promise<void> {
  const collected = await callAsOperator('filesOperations', dataDirs, (files, caller) =>
    files.collectBytes({ isApplied: apply }, caller),
  );
  const kinds = {
    expired_uploads: collected.expiredUploads,
    unreferenced_objects: collected.unreferencedObjects,
    orphans: collected.orphans,
  };
  if (json) {
    const counts = Object.entries(kinds).map(([name, kind]) => [name, countsOf(kind)]);
    const output = { applied: apply, grace_ms: Number(collected.graceMs), ...Object.fromEntries(counts) };
    return terminal.print(JSON.stringify(output, null, 2));
  }
  const rows = Object.entries(kinds).map(([name, kind]) => {
    const { count, bytes } = countsOf(kind);
    return [name.replaceAll('_', ' '), String(count), formatBytes(bytes)];
  });
  for (const line of table(rows)) terminal.print(line);
  const grace = `Nothing younger than ${formatTimeSpan(Number(collected.graceMs))} is touched.`;
  terminal.note(apply ? `Removed. ${grace}` : `Nothing was removed; --apply does it. ${grace}`);
}

function countsOf(collected: CollectedBytes__Output | null): { count: number; bytes: number } {
  return { count: Number(collected?.count ?? 0), bytes: Number(collected?.bytes ?? 0) };
}
