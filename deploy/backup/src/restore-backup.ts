import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { amountOf, type BackupSystem, IN_ORDER, type Progress } from './backup-system.ts';
import { emptyDatabase, loadDatabase, problemsOfTarget } from './load-database.ts';
import type { Manifest } from './manifest.ts';
import { restoreVocabularies } from './operators-files.ts';
import { copyDurably, copyObjects, FILES, STORE_ID } from './stored-objects.ts';

export interface RestoreOptions {
  folder: string;
  /** As `verifyBackup` has found it. */
  manifest: Manifest;
  /** Whether what the databases hold may go. */
  isReplacing: boolean;
  progress: Progress;
}

/**
 * Replaces a system's data by a verified backup. All checks precede the first change; repeat an interrupted
 * restore with `isReplacing`. Objects of the store that the backup does not name stay, until the files
 * service removes them as unreferenced.
 *
 * @throws Error while a service is connected, and when existing data would be replaced without `isReplacing`
 */
export async function restoreBackup(system: BackupSystem, options: RestoreOptions): Promise<void> {
  const { folder, manifest, progress } = options;
  await assertFree(system, options);
  const { filesFolder, databaseUrls, dataDir } = system;
  if (filesFolder !== undefined && manifest.files.has_bytes) {
    progress.step('bytes of files');
    const onObject = amountOf(manifest.files.objects, progress);
    await copyObjects(folder, { from: join(folder, FILES), to: filesFolder, onObject });
    if (manifest.files.store_id !== null)
      await copyDurably(join(folder, FILES, STORE_ID), join(filesFolder, STORE_ID));
  }
  for (const service of IN_ORDER) {
    progress.step(`database of ${service}`);
    await emptyDatabase(databaseUrls[service]);
    await loadDatabase(service, databaseUrls[service], { folder, dumped: manifest.databases[service] });
  }
  if (dataDir !== undefined) await restoreVocabularies(folder, dataDir);
}

async function assertFree(
  { databaseUrls, filesFolder }: BackupSystem,
  { isReplacing }: RestoreOptions,
): Promise<void> {
  const found = await Promise.all(
    IN_ORDER.map((service) => problemsOfTarget(service, databaseUrls[service])),
  );
  const inUse = found.flatMap((problems) => problems.inUse ?? []);
  if (inUse.length > 0) throw new Error(`Stop the services first; in use: ${inUse.join(', ')}.`);
  const holds = found.flatMap((problems) => problems.holds ?? []);
  if (filesFolder !== undefined) {
    await mkdir(join(filesFolder, 'objects'), { recursive: true });
    const stored = await readdir(join(filesFolder, 'objects'));
    if (stored.length > 0) holds.push(`the files in ${filesFolder}`);
  }
  if (holds.length > 0 && !isReplacing)
    throw new Error(`There is existing data; --replace overwrites it: ${holds.join(', ')}.`);
}
