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
    .description('Write everything that a system cannot make anew into a new folder.')
    .option('--with-secrets', 'the keys and passwords of a local system too', false)
    .option('--without-files', 'of the bytes of files only their list', false)
    .option('--data-dir <folder>', 'data folder of the system')
    .option('--json', 'print the manifest as JSON', false)
    .addHelpText('after', BACKUP_HELP)
    .action((folder: string, options: Options & { withSecrets: boolean; withoutFiles: boolean }) =>
      backup(terminal, resolve(cwd, folder), { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
  admin
    .command('restore <folder>')
    .description('Put a backup in the place of the data of a stopped system.')
    .option('--verify', 'only read the backup and compare it with what was written', false)
    .option('--replace', 'what the databases hold may go', false)
    .option('--data-dir <folder>', 'data folder of the system; made where there is none')
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
    .description('The tables of the services.')
    .command('status')
    .description('Show how far each database is, and what this release wants.')
    .option('--data-dir <folder>', 'data folder of the system')
    .option('--json', 'print it as JSON', false)
    .addHelpText('after', MIGRATE_HELP)
    .action((options: Options) =>
      showMigrations(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
}

const BACKUP_HELP = `
The system may run and be used: all databases are written as they are at one moment, at
which publishing waits for some milliseconds, then the bytes of files that they name.
Uploads under way are not in it. The folder appears when it is whole. Objects are linked
where the file system can do that, so take a copy of the folder to another disk.`;

const RESTORE_HELP = `
Everything in the backup is read and compared before anything is changed. The services
have to be stopped. Keys and passwords of the backup are taken by a folder that has none
yet. docs/operations.md says what to do afterwards.`;

const MIGRATE_HELP = `
Nobody migrates by hand: the first process of a service that starts does, the others wait.
Exit code: 0 nothing is pending, 1 something is.`;
