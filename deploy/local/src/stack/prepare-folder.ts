import { mkdir, rename, stat } from 'node:fs/promises';
import type { DataFolder } from './data-folder.ts';
import { SERVICES } from './service-names.ts';

/** A log larger than this is set aside at a start; the one set aside before is dropped. */
const LARGEST_LOG_BYTES = 16 * 1024 * 1024;

export async function prepareFolder(folder: DataFolder): Promise<void> {
  for (const path of [folder.root, folder.logs, folder.files]) await mkdir(path, { recursive: true });
  for (const part of ['postgres', 'nats', ...SERVICES]) await setAsideLargeLog(folder.logFile(part));
}

async function setAsideLargeLog(file: string): Promise<void> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LARGEST_LOG_BYTES) await rename(file, `${file}.1`);
}
