import { readFile } from 'node:fs/promises';
import type { Manifest } from '@kr/backup';
import { CliError } from '../cli-error.ts';
import { reachSystem } from '../settings/reach-system.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { stepProgress } from '../terminal/step-progress.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';

export interface BackupOptions extends AdminOptions {
  /** Keys and passwords of a local system go along. */
  withSecrets: boolean;
  /** Whether the list of the bytes is enough. */
  withoutFiles: boolean;
}

const PACKAGE = new URL('../../../../package.json', import.meta.url);

/** `kr admin backup DIR`: all data that a system cannot derive again, while it runs or not. */
export async function backup(
  terminal: Terminal,
  folder: string,
  { withSecrets, withoutFiles, json, dataDirs }: BackupOptions,
): Promise<void> {
  const { makeBackup } = await import('@kr/backup');
  await using reached = await reachSystem(dataDirs, { isMade: false });
  const { filesFolder } = reached.system;
  if (filesFolder === undefined && !withoutFiles)
    throw new CliError(
      'This backup cannot read the files: they are in a bucket, or their folder is not configured. Back them up separately and use --without-files (docs/operations/backup-and-upgrade.md).',
    );
  const manifest = await makeBackup(
    { ...reached.system, filesFolder: withoutFiles ? undefined : filesFolder },
    {
      folder,
      withSecrets,
      release: await release(),
      now: () => new Date(),
      progress: stepProgress(terminal),
    },
  ).catch((error: unknown) => {
    throw new CliError(error instanceof Error ? error.message : String(error));
  });
  terminal.status('');
  if (json) terminal.print(JSON.stringify(manifest, null, 2));
  else for (const line of summary(manifest)) terminal.print(line);
  warnAboutSecrets(terminal, withSecrets);
  const { missing } = manifest.files;
  if (missing.length > 0)
    throw new CliError(
      `The backup is complete except for ${missing.length} objects that are missing in the store: ${missing.slice(0, 5).join(', ')}. Run "kr admin files verify" for details.`,
    );
}

/** The contents of a backup, for people. */
export function summary({ taken_at: takenAt, release: by, files, parts }: Manifest): string[] {
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const amount = `${files.objects} objects, ${formatBytes(files.bytes)}`;
  return table([
    ['state of', takenAt],
    ['release', by],
    ['databases', `6, ${formatBytes(bytes)}`],
    ['files', files.has_bytes ? amount : `only the list of ${amount}`],
  ]);
}

function warnAboutSecrets(terminal: Terminal, withSecrets: boolean): void {
  terminal.note(
    withSecrets
      ? 'The backup contains the keys and passwords: a reader of this folder can open every link and act as any service.'
      : 'The backup does not contain keys and passwords. Back up secrets.json separately. Without it, access links and stored responses are invalid after a restore.',
  );
}

async function release(): Promise<string> {
  return (JSON.parse(await readFile(PACKAGE, 'utf8')) as { version: string }).version;
}
