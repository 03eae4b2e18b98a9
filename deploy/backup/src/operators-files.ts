import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dataFolder, writePrivateFile } from '@kr/local-stack';
import type { BackupSystem } from './backup-system.ts';
import { type Part, undefinedIfMissing, writePart } from './part.ts';

const VOCABULARIES = 'vocabularies';
const SECRETS = 'secrets';

/** Files that operators added to a local system: vocabularies, and on request keys and passwords. */
export async function copyOperatorsFiles(
  { dataDir }: BackupSystem,
  { folder, withSecrets }: { folder: string; withSecrets: boolean },
): Promise<Part[]> {
  if (dataDir === undefined) {
    if (withSecrets)
      throw new Error('The secrets are not in this folder; back up the file that they were generated in.');
    return [];
  }
  const parts: Part[] = [];
  const { vocabularies } = dataFolder(dataDir);
  for (const name of await namesIn(vocabularies))
    parts.push(
      await writePart(folder, `${VOCABULARIES}/${name}`, [await readFile(join(vocabularies, name))]),
    );
  if (!withSecrets) return parts;
  for (const { name, file } of secretFiles(dataDir)) {
    const content = await readFile(file).catch(undefinedIfMissing);
    if (content !== undefined) parts.push(await writePart(folder, `${SECRETS}/${name}`, [content]));
  }
  return parts;
}

/**
 * Puts the keys and passwords of a backup into a data folder that has none yet.
 *
 * @returns whether the folder has those of the backup now
 */
export async function restoreSecrets(folder: string, dataDir: string): Promise<boolean> {
  const [own] = secretFiles(dataDir);
  const present = await readFile(own.file, 'utf8').catch(undefinedIfMissing);
  const backedUp = await readFile(join(folder, SECRETS, own.name), 'utf8').catch(undefinedIfMissing);
  if (present !== undefined || backedUp === undefined) return present !== undefined && present === backedUp;
  await mkdir(dataDir, { recursive: true });
  for (const { name, file } of secretFiles(dataDir)) {
    const content = await readFile(join(folder, SECRETS, name), 'utf8').catch(undefinedIfMissing);
    if (content !== undefined) await writePrivateFile(file, content);
  }
  return true;
}

/** Those of the backup replace those of the same name. */
export async function restoreVocabularies(folder: string, dataDir: string): Promise<void> {
  const { vocabularies } = dataFolder(dataDir);
  const names = await namesIn(join(folder, VOCABULARIES));
  if (names.length > 0) await mkdir(vocabularies, { recursive: true });
  for (const name of names) await copyFile(join(folder, VOCABULARIES, name), join(vocabularies, name));
}

interface SecretFile {
  name: string;
  file: string;
}

function secretFiles(dataDir: string): [SecretFile, SecretFile] {
  const { secretsFile, credentialsFile } = dataFolder(dataDir);
  return [
    { name: 'secrets.json', file: secretsFile },
    { name: 'credentials.json', file: credentialsFile },
  ];
}

async function namesIn(folder: string): Promise<string[]> {
  return ((await readdir(folder).catch(undefinedIfMissing)) ?? [])
    .filter((name) => name.endsWith('.json'))
    .sort();
}
