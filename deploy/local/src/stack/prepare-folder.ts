import { mkdir } from 'node:fs/promises';
import type { DataFolder } from './data-folder.ts';
import { rotateLogs } from './rotate-logs.ts';

export async function prepareFolder(folder: DataFolder): Promise<void> {
  for (const path of [folder.root, folder.logs, folder.files]) await mkdir(path, { recursive: true });
  await rotateLogs(folder.logs);
}
