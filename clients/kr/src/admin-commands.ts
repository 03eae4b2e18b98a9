import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type BackupOptions, backup } from './commands/backup.ts';
import { collectGarbage, type GcOptions } from './commands/collect-garbage.ts';
import type { AdminOptions } from './commands/context.ts';
import { type DeadLetterOptions, listDeadLetters, replayDeadLetters } from './commands/dead-letters.ts';
import { listDois, reconcileDois, retryDois } from './commands/dois.ts';
import { importVocabulary } from './commands/import-vocabulary.ts';
import { showMigrations } from './commands/migration-status.ts';
import { type ListOptions, listPublications, STATES, showPublication } from './commands/publications.ts';
import { setQuota, showQuota } from './commands/quota.ts';
import { type RestoreOptions, restore } from './commands/restore.ts';
import { checkDrift, reindex, showIndex } from './commands/search-index.ts';
import { showStatus } from './commands/status.ts';
import {
  type CreateUserOptions,
  createUser,
  listUsers,
  listUserTokens,
  revokeUserTokens,
  setUserDisabled,
  showUserAuditLog,
} from './commands/users.ts';
import { type VerifyOptions, verifyFiles } from './commands/verify-files.ts';
import { lifetime, timeSpan, wholeNumber } from './option-parsers.ts';
import { EVENT_CONSUMERS } from './settings/call-as-operator.ts';
import { parseBytes } from './terminal/format-bytes.ts';
import type { Terminal } from './terminal/terminal.ts';

export interface AdminContext {
  terminal: Terminal;
  /** The base of relative paths. */
  cwd: string;
  /** The folders of systems for a value of `--data-dir`. */
  dataDirs(dataDir: string | undefined): string[];
}

/** `kr admin`: the commands of operators. */
export function addAdminCommands(program: Command, { terminal, cwd, dataDirs }: AdminContext): void {
  const admin = program
    .command('admin')
    .description('Operate a system: users, files, publications, search, backups.');
  admin.hook('preAction', (_, command) => {
    command.setOptionValue('dataDirs', dataDirs(command.opts<{ dataDir?: string }>().dataDir));
  });
  add(admin, 'status', 'Show the state of all parts of a system; fails if one needs attention.').action(
    (options: AdminOptions) => showStatus(terminal, options),
  );
  addUserCommands(admin, terminal);
  add(
    admin.command('vocabulary').description('Vocabularies of the system.'),
    'import <type> <file>',
    'Add the entries of a CSV, JSON or YAML file to a vocabulary; existing ids are replaced.',
  ).action((type: string, file: string, options: AdminOptions) =>
    importVocabulary(terminal, type, resolve(cwd, file), options),
  );
  addPublicationCommands(admin, terminal);
  addFilesCommands(admin, terminal);
  addIndexCommands(admin, terminal);
  addDeadLetterCommands(admin, terminal);
  addDoiCommands(admin, terminal);
  addQuotaCommands(admin, terminal);
  addMaintenanceCommands(admin, terminal, cwd);
}

/** A command whose options are at least `AdminOptions`. */
function add(parent: Command, usage: string, description: string): Command {
  return parent
    .command(usage)
    .description(description)
    .option('--data-dir <folder>', 'data folder of the system')
    .option('--json', 'print JSON', false);
}

function addUserCommands(admin: Command, terminal: Terminal): void {
  const users = admin.command('user').description('Users of a system and their access tokens.');
  add(users, 'create <name>', 'Create a user with an access token, and print the token once.')
    .option('--admin', 'make the user an administrator', false)
    .option('--token', 'add a token if the user exists', false)
    .option(
      '--expires <time>',
      'lifetime of the token, such as 12h or 30d, or never (default: 365d)',
      lifetime,
    )
    .action((name: string, options: CreateUserOptions) => createUser(terminal, name, options));
  add(users, 'list', 'List all users.').action((options: AdminOptions) => listUsers(terminal, options));
  add(users, 'disable <name>', 'Disable a user: every later request with their credentials fails.')
    .addHelpText('after', DISABLE_HELP)
    .action((name: string, options: AdminOptions) => setUserDisabled(terminal, name, true, options));
  add(users, 'enable <name>', 'Enable a disabled user.').action((name: string, options: AdminOptions) =>
    setUserDisabled(terminal, name, false, options),
  );
  add(users, 'tokens <name>', 'List the tokens of a user that were not revoked.').action(
    (name: string, options: AdminOptions) => listUserTokens(terminal, name, options),
  );
  add(users, 'revoke-token <name> [id...]', 'Revoke tokens of a user.')
    .option('--all', 'revoke all tokens of the user', false)
    .action((name: string, ids: string[], options: AdminOptions & { all: boolean }) =>
      revokeUserTokens(terminal, name, ids, options),
    );
  add(users, 'audit-log <name>', 'Show the changes that operators made to a user, newest first.')
    .option('--limit <n>', 'entries, 1 to 1000', wholeNumber(1, 1_000), 100)
    .action((name: string, options: AdminOptions & { limit: number }) =>
      showUserAuditLog(terminal, name, options),
    );
}

function addPublicationCommands(admin: Command, terminal: Terminal): void {
  const publications = admin
    .command('publications')
    .description('Publications, open and finished.')
    .addHelpText('after', PUBLICATIONS_HELP);
  add(publications, 'list', 'List publications, newest first.')
    .addOption(new Option('--state <state...>', 'only those in one of these states').choices(STATES))
    .option('--open', 'only unfinished publications', false)
    .option(
      '--older-than <time>',
      'only publications that began longer ago, such as 30s, 5m, 2h or 1d',
      timeSpan,
      0,
    )
    .option('--limit <n>', 'maximum number of entries, 1 to 1000', wholeNumber(1, 1_000), 100)
    .addHelpText('after', PUBLICATIONS_HELP)
    .action((options: ListOptions) => listPublications(terminal, options));
  add(publications, 'show <id>', 'Show one publication in full.')
    .addHelpText('after', PUBLICATIONS_HELP)
    .action((id: string, options: AdminOptions) => showPublication(terminal, id, options));
}

function addFilesCommands(admin: Command, terminal: Terminal): void {
  const files = admin.command('files').description('Stored bytes of files.');
  add(
    files,
    'verify',
    'Show the results of fixity checks: when stored bytes were last read, and damaged objects.',
  )
    .option('--start', 'start a check in the background, at the configured speed', false)
    .option('--now', 'check all at full speed, wait for it, and fail if an object is damaged', false)
    .addHelpText('after', VERIFY_HELP)
    .action((options: VerifyOptions) => verifyFiles(terminal, options));
  add(files, 'gc', 'Count stored bytes that no file uses any more.')
    .option('--apply', 'remove them', false)
    .addHelpText('after', GC_HELP)
    .action((options: GcOptions) => collectGarbage(terminal, options));
}

function addIndexCommands(admin: Command, terminal: Terminal): void {
  const index = admin.command('search').description('The search index.');
  add(index, 'status', 'Show the engine, documents, lag, and the latest reindex and comparison.').action(
    (options: AdminOptions) => showIndex(terminal, options),
  );
  add(index, 'reindex', 'Build the index beside the live one, which it then replaces.')
    .option('--no-wait', 'do not wait until it is complete')
    .addHelpText('after', REINDEX_HELP)
    .action((options: AdminOptions & { wait: boolean }) => reindex(terminal, options));
  add(index, 'drift', 'Compare the index with the entities of the services.')
    .option('--repair', 'repair the differences', false)
    .addHelpText('after', DRIFT_HELP)
    .action((options: AdminOptions & { repair: boolean }) => checkDrift(terminal, options));
  add(index, 'repair', 'The same as drift --repair.')
    .addHelpText('after', DRIFT_HELP)
    .action((options: AdminOptions) => checkDrift(terminal, { ...options, repair: true }));
}

function addDeadLetterCommands(admin: Command, terminal: Terminal): void {
  const letters = admin.command('dead-letters').description('Events that a service could not handle.');
  const service = () =>
    new Option('--service <name>', 'only those of one service (default: all)').choices(EVENT_CONSUMERS);
  add(letters, 'list', 'List dead letters, oldest first.')
    .addOption(service())
    .option('--limit <n>', 'dead letters per service, 1 to 1000', wholeNumber(1, 1_000), 100)
    .action((options: DeadLetterOptions & { limit: number }) => listDeadLetters(terminal, options));
  add(letters, 'replay [id...]', 'Handle dead letters as new events. Letters that fail again stay.')
    .addOption(service())
    .option('--all', 'replay all dead letters', false)
    .addHelpText('after', REPLAY_HELP)
    .action((ids: string[], options: DeadLetterOptions & { all: boolean }) =>
      replayDeadLetters(terminal, ids, options),
    );
}

function addDoiCommands(admin: Command, terminal: Terminal): void {
  const dois = admin.command('doi').description('DOIs and their registration with DataCite.');
  add(dois, 'list', 'List DOIs and their states.')
    .option('--failed', 'only refused DOIs', false)
    .addHelpText('after', DOI_STATES_HELP)
    .action((options: AdminOptions & { failed: boolean }) => listDois(terminal, options));
  add(dois, 'retry [doi...]', 'Send DOIs again; without arguments all refused ones.').action(
    (names: string[], options: AdminOptions) => retryDois(terminal, names, options),
  );
  add(dois, 'reconcile', 'Compare every DOI with DataCite and resend DOIs that differ.').action(
    (options: AdminOptions) => reconcileDois(terminal, options),
  );
}

function addQuotaCommands(admin: Command, terminal: Terminal): void {
  const quota = admin.command('quota').description('Storage limits of users, by user name or id.');
  add(quota, 'show <user>', "Show a user's storage usage and limit.").action(
    (user: string, options: AdminOptions) => showQuota(terminal, user, options),
  );
  add(quota, 'set <user>', "Set a user's storage limit, or return to the default. Stored files stay.")
    .argument('<limit>', 'bytes, or a size such as 500GB or 1.5TB, or "default"', quotaLimit)
    .action((user: string, limit: { bytes: number | null }, options: AdminOptions) =>
      setQuota(terminal, user, limit.bytes, options),
    );
}

/** The commands about the data of a whole system. */
function addMaintenanceCommands(admin: Command, terminal: Terminal, cwd: string): void {
  add(admin, 'backup <folder>', 'Back up a system into a new folder.')
    .option('--with-secrets', 'include the keys and passwords of a local system', false)
    .option('--without-files', 'list the files, do not copy them', false)
    .addHelpText('after', BACKUP_HELP)
    .action((folder: string, options: BackupOptions) => backup(terminal, resolve(cwd, folder), options));
  add(admin, 'restore <folder>', 'Restore a backup into a stopped system.')
    .option('--verify', 'only check that the backup is intact', false)
    .option('--replace', 'overwrite existing data', false)
    .addHelpText('after', RESTORE_HELP)
    .action((folder: string, options: RestoreOptions) => restore(terminal, resolve(cwd, folder), options));
  add(
    admin.command('migrate').description('Database migrations of the services.'),
    'status',
    'Show applied and required migrations.',
  )
    .addHelpText('after', MIGRATE_HELP)
    .action((options: AdminOptions) => showMigrations(terminal, options));
}

function quotaLimit(text: string): { bytes: number | null } {
  if (text === 'default') return { bytes: null };
  const bytes = parseBytes(text);
  if (bytes === undefined)
    throw new InvalidArgumentError(
      'Expected a number of bytes, a size such as 500GB or 1.5TB, or "default".',
    );
  return { bytes };
}

const DISABLE_HELP = `
Requests fail with 401 user_disabled, also those with a token of an identity provider.
Entities, access links and tokens of the user stay. Access links that the user created
remain valid, and tokens are valid again when the user is enabled: revoke them with
kr admin user revoke-token NAME --all.`;

const REINDEX_HELP = `
Searches and changes continue meanwhile, and the new index replaces the old one at one
moment. Interrupting this command does not stop the reindex; kr admin search status shows
its progress. After a crash the service restarts it.`;

const DRIFT_HELP = `
A first difference may be an event in flight, so entities are compared again after all
events have arrived. The service does the same once a day,
without repairs. Exit code: 0 no differences or all repaired, 1 differences remain.`;

const REPLAY_HELP = `
Ids need --service: each service numbers its own dead letters. Remove the cause of the
failure first. Exit code: 0 all were handled, 1 some failed again or are unknown.`;

const VERIFY_HELP = `
Every object is read in the background, every 30 days by default, and compared
with the digest that was computed on arrival. The service's configuration sets interval
and speed.
docs/files.md describes how to handle damaged ones.
Exit code of --now: 0 all objects are intact, 1 some are damaged.`;

const GC_HELP = `
Expired uploads, objects without a file, and blobs without a row in the database. The service removes
them every hour or every day; this command does so at once. Objects of drafts and
published entities are never removed, nor objects without a reference
for less than 24 hours, nor bytes of running uploads.`;

const PUBLICATIONS_HELP = `
There is no command to release locks, because none is needed: every publication
ends without intervention, and releases its locks. docs/publications.md has the times.`;

const DOI_STATES_HELP = `
States: pending (not registered yet), findable, hidden (restricted or removed after it was
findable), unregistered (never public), failed (refused by DataCite; see its last error,
remove the cause, then kr admin doi retry).`;

const BACKUP_HELP = `
The system may be in use: all databases are copied as of one moment, during which
publishing waits for some milliseconds, then the files that they name. Uploads in
progress are left out. The folder appears when the backup is complete. Files are
hard-linked if the file system supports it, so copy the folder to another disk.`;

const RESTORE_HELP = `
The whole backup is verified before anything is changed. The services must be stopped.
Keys and passwords of the backup are used if the folder has none yet. A folder that
--data-dir names is created if it does not exist.
docs/operations/backup-and-upgrade.md describes the next steps.`;

const MIGRATE_HELP = `
The first process of a service that starts applies its migrations; the others wait.
Exit code: 0 if nothing is pending, else 1.`;
