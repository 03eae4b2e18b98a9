import { resolve } from 'node:path';
import type { Command } from 'commander';
import { backup } from './commands/backup.ts';
import { showMigrations } from './commands/migration-status.ts';
import { restore } from './commands/restore.ts';
import type { Terminal } from './terminal/terminal.ts';

interface Options {
  dataDir?: string;
  json: boolean;
}

/** The commands about the data of a whole system: `kr admin backup`, `restore` and `migrate`. */
export function addUpkeepCommands(
  admin: Command,
  {
    terminal,
    cwd,
    dataDirs,
  }: { terminal: Terminal; cwd: string; dataDirs(dataDir: string | undefined): string[] },
): void {
  admin
    .command('backup <folder>')
    .description('Back up a system into a new folder.')
    .option('--with-secrets', 'include the keys and passwords of a local system', false)
    .option('--without-files', 'list the files, do not copy them', false)
    .option('--data-dir <folder>', 'data folder of the system')
    .option('--json', 'print the manifest as JSON', false)
    .addHelpText('after', BACKUP_HELP)
    .action((folder: string, options: Options & { withSecrets: boolean; withoutFiles: boolean }) =>
      backup(terminal, resolve(cwd, folder), { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
  admin
    .command('restore <folder>')
    .description('Restore a backup into a stopped system.')
    .option('--verify', 'only check that the backup is intact', false)
    .option('--replace', 'overwrite existing data', false)
    .option('--data-dir <folder>', 'data folder of the system; created if it does not exist')
    .option('--json', 'print the manifest as JSON', false)
    .addHelpText('after', RESTORE_HELP)
    .action((folder: string, options: Options & { verify: boolean; replace: boolean }) =>
      restore(terminal, resolve(cwd, folder), {
        ...options,
        dataDirs: dataDirs(options.dataDir),
        isFolderGiven: options.dataDir !== undefined,
      }),
    );
  admin
    .command('migrate')
    .description('Database migrations of the services.')
    .command('status')
    .description('Show applied and required migrations.')
    .option('--data-dir <folder>', 'data folder of the system')
    .option('--json', 'print it as JSON', false)
    .addHelpText('after', MIGRATE_HELP)
    .action((options: Options) =>
      showMigrations(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
}

const BACKUP_HELP = `
The system may be in use: all databases are copied as of one moment, during which
publishing waits for some milliseconds, then the files that they name. Uploads in
progress are left out. The folder appears when the backup is complete. Files are
hard-linked if the file system can, so copy the folder to another disk.`;

const RESTORE_HELP = `
The whole backup is verified before anything is changed. The services must be stopped.
Keys and passwords of the backup are used if the folder has none yet.
docs/operations.md describes the next steps.`;

const MIGRATE_HELP = `
The first process of a service that starts applies its migrations; the others wait.
Exit code: 0 if nothing is pending, else 1.`;
