import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { assertOwnStore } from './assert-own-store.ts';
import { amountOf, type BackupSystem, type Progress } from './backup-system.ts';
import { dumpDatabases } from './dump-databases.ts';
import { FORMAT, type Manifest, writeManifest } from './manifest.ts';
import { copyOperatorsFiles } from './operators-files.ts';
import { type Part, undefinedIfMissing, writePart } from './part.ts';
import { copyObjects, FILES, type ListedObjects, readStoreId, STORE_ID } from './stored-objects.ts';

export interface BackupOptions {
  /** Made; where it exists, it is empty. */
  folder: string;
  /** Keys and passwords of a local system go along. */
  withSecrets: boolean;
  /** Of the program that makes it. */
  release: string;
  now: () => Date;
  progress: Progress;
}

/**
 * Backs up a system into a folder: all databases as of one instant, then the bytes of their objects, which
 * are not removed for a day. The system may be in use. The folder is written under another name and renamed
 * when it is complete.
 *
 * @throws Error when the folder is not empty or a mount point, the bytes are elsewhere, a part cannot be
 * read, or a later release has migrated a database
 */
export async function makeBackup(system: BackupSystem, options: BackupOptions): Promise<Manifest> {
  const { folder } = options;
  const partial = `${folder}.partial`;
  if ((await entriesOf(folder)).length > 0) throw new Error(`${folder} is not empty.`);
  await mkdir(dirname(folder), { recursive: true });
  await assertReplaceable(folder);
  await assertOwnStore(system);
  await mkdir(partial, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw cause;
    throw new Error(
      `${partial} exists: another backup is running, or was interrupted. Remove it in the second case.`,
      {
        cause,
      },
    );
  });
  try {
    const manifest = await writeAll(system, { ...options, folder: partial });
    await syncFolder(partial);
    await rename(partial, folder);
    await syncFolder(dirname(folder));
    return manifest;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

async function writeAll(system: BackupSystem, options: BackupOptions): Promise<Manifest> {
  const { folder, now, release, withSecrets } = options;
  const begunAt = now();
  const { databases, objects, parts, takenAt } = await dumpDatabases(system, options);
  const brought = await copyFiles(system, options, objects);
  const operators = await copyOperatorsFiles(system, options);
  const manifest: Manifest = {
    format: FORMAT,
    release,
    begun_at: begunAt.toISOString(),
    taken_at: takenAt.toISOString(),
    ended_at: now().toISOString(),
    databases,
    files: brought.files,
    has_secrets: withSecrets,
    parts: [...parts, objects.part, ...brought.parts, ...operators],
  };
  await writeManifest(folder, manifest);
  return manifest;
}

async function copyFiles(
  { filesFolder }: BackupSystem,
  { folder, progress }: BackupOptions,
  { objects, bytes }: ListedObjects,
): Promise<{ files: Manifest['files']; parts: Part[] }> {
  const listed = { store_id: null, has_bytes: false, objects, bytes, missing: [] };
  if (filesFolder === undefined) return { files: listed, parts: [] };
  progress.step('bytes of files');
  const storeId = await readStoreId(filesFolder);
  const mark =
    storeId === undefined ? [] : [await writePart(folder, `${FILES}/${STORE_ID}`, [`${storeId}\n`])];
  const missing = await copyObjects(folder, {
    from: filesFolder,
    to: join(folder, FILES),
    onObject: amountOf(objects, progress),
  });
  return { files: { ...listed, store_id: storeId ?? null, has_bytes: true, missing }, parts: mark };
}

/** A mount point cannot be replaced by the folder written beside it. */
async function assertReplaceable(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  const [own, parent] = await Promise.all([stat(folder), stat(dirname(resolve(folder)))]);
  if (own.dev !== parent.dev) throw new Error(`${folder} is a mount point: name a folder below it.`);
}

async function entriesOf(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(undefinedIfMissing)) ?? [];
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
