import { copyFile, readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const MAX_LOG_BYTES = 16 * 1024 * 1024;
const CHECK_INTERVAL_MS = 60_000;

export interface RotationOptions {
  onProgress(sentence: string): void;
  signal: AbortSignal;
  intervalMs?: number;
}

/** Rotates large logs at regular intervals until the signal aborts. */
export async function startLogRotation(
  folder: string,
  { onProgress, signal, intervalMs = CHECK_INTERVAL_MS }: RotationOptions,
): Promise<void> {
  for (;;) {
    await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    await rotateLogs(folder).catch((cause: unknown) =>
      onProgress(`The logs in ${folder} could not be rotated: ${cause}`),
    );
  }
}

/**
 * Copies each log above the limit to `NAME.log.1`, which replaces an earlier copy, and empties the log. Programs keep their
 * logs open for appending, so a log is truncated, not renamed; lines written during the copy may be lost.
 */
export async function rotateLogs(folder: string, largestBytes = MAX_LOG_BYTES): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.log'));
  for (const file of names.map((name) => join(folder, name))) {
    if ((await stat(file)).size <= largestBytes) continue;
    await copyFile(file, `${file}.1`);
    await truncate(file);
  }
}
