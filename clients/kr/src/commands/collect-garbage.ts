import type { GarbageCount__Output } from '@kr/contracts';
import { callAsOperator } from '../settings/call-as-operator.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatTimeSpan } from '../terminal/time-span.ts';
import type { AdminOptions } from './context.ts';

export interface GcOptions extends AdminOptions {
  /** Without it nothing is removed. */
  apply: boolean;
}

/** `kr admin files gc`: counts stored bytes that nothing references; `--apply` removes them. */
export async function collectGarbage(
  terminal: Terminal,
  { apply, json, dataDirs }: GcOptions,
): Promise<void> {
  const garbage = await callAsOperator('filesOperations', dataDirs, (files, caller) =>
    files.collectGarbage({ isApplied: apply }, caller),
  );
  const kinds = {
    expired_uploads: garbage.expiredUploads,
    unreferenced_objects: garbage.unreferencedObjects,
    unreferenced_blobs: garbage.unreferencedBlobs,
  };
  if (json) {
    const counts = Object.entries(kinds).map(([name, kind]) => [name, countsOf(kind)]);
    const result = { applied: apply, grace_ms: Number(garbage.graceMs), ...Object.fromEntries(counts) };
    return terminal.print(JSON.stringify(result, null, 2));
  }
  const rows = Object.entries(kinds).map(([name, kind]) => {
    const { count, bytes } = countsOf(kind);
    return [name.replaceAll('_', ' '), String(count), formatBytes(bytes)];
  });
  for (const line of table(rows)) terminal.print(line);
  const grace = `Nothing younger than ${formatTimeSpan(Number(garbage.graceMs))} is touched.`;
  terminal.note(apply ? `Removed. ${grace}` : `Nothing was removed; --apply does it. ${grace}`);
}

function countsOf(garbage: GarbageCount__Output | null): { count: number; bytes: number } {
  return { count: Number(garbage?.count ?? 0), bytes: Number(garbage?.bytes ?? 0) };
}
