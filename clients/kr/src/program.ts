import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createApiClient } from './api/api-client.ts';
import type { EntityKind } from './api/entity.ts';
import { auditFiles } from './commands/audit-files.ts';
import { type AuditLogOptions, auditLog } from './commands/audit-log.ts';
import { collectFiles } from './commands/collect-files.ts';
import type { CommandContext, ConnectTo } from './commands/context.ts';
import { listDeadLetters, replayDeadLetters } from './commands/dead-letters.ts';
import { download } from './commands/download.ts';
import { get } from './commands/get.ts';
import { importVocabulary } from './commands/import-vocabulary.ts';
import { load } from './commands/load.ts';
import { login } from './commands/login.ts';
import { listPublications, OPEN_STATES, STATES, showPublication } from './commands/publications.ts';
import { setQuota, showQuota } from './commands/quota.ts';
import { search } from './commands/search.ts';
import { checkDrift, reindex, showIndex } from './commands/search-index.ts';
import { type CreateTokenOptions, createToken, listTokens, revokeToken, SCOPES } from './commands/tokens.ts';
import { addDoiCommands } from './doi-commands.ts';
import { lifetime, timeSpan, wholeNumber } from './option-parsers.ts';
import { EVENT_CONSUMERS, type EventConsumer } from './settings/call-as-operator.ts';
import { type LinkedService, type Settings, settingsFrom } from './settings/settings.ts';
import { loginFile, readLocalLogin, readLogin } from './settings/stored-login.ts';
import { parseBytes } from './terminal/format-bytes.ts';
import type { Terminal } from './terminal/terminal.ts';
import { addUpkeepCommands } from './upkeep-commands.ts';
import { addUserCommands } from './user-commands.ts';

export interface ProgramSurroundings {
  terminal: Terminal;
  env: Readonly<Record<string, string | undefined>>;
  /** The base of relative paths. */
  cwd: string;
  /** Ends requests that are under way. */
  signal: AbortSignal;
}

interface ConnectionOptions {
  baseUrl?: string;
  token?: string;
  anonymous?: boolean;
  dataDir?: string;
}

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));

/** The `kr` command with all its subcommands; reads and writes through its surroundings only. */
export function createProgram({ terminal, env, cwd, signal }: ProgramSurroundings): Command {
  const connectTo: ConnectTo = (settings) =>
    createApiClient({
      ...settings,
      signal,
      onRetry: (reason, waitMs) =>
        terminal.note(`${reason}; trying again in ${(waitMs / 1_000).toFixed(1)} s`),
    });
  const storedLogin = loginFile(env);
  const dataDirs = (dataDir: string | undefined): string[] =>
    dataDir === undefined
      ? [...new Set([join(cwd, '.data'), join(PROJECT, '.data')])]
      : [resolve(cwd, dataDir)];

  const findSettings = async (options: ConnectionOptions, link?: LinkedService): Promise<Settings> => {
    const local = await Promise.all(dataDirs(options.dataDir).map(readLocalLogin));
    const stored = await readLogin(storedLogin);
    const settings = settingsFrom({
      given: { baseUrl: options.baseUrl, token: options.token, from: '--token' },
      environment: {
        baseUrl: env['KR_BASE_URL'] || undefined,
        token: env['KR_TOKEN'] || undefined,
        from: 'the environment variable KR_TOKEN',
      },
      kept: options.dataDir === undefined ? [stored, ...local] : local,
      link: link?.baseUrl,
    });
    return {
      ...settings,
      ...(options.anonymous ? { token: undefined, tokenFrom: undefined } : {}),
      linkToken: link?.token,
    };
  };
  const contextOf = (options: ConnectionOptions): CommandContext => ({
    terminal,
    connect: async (link) => connectTo(await findSettings(options, link)),
  });

  const program = new Command('kr')
    .description('Works with a knowledge repository: loads, finds and downloads packages and resources.')
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    })
    .exitOverride()
    .showHelpAfterError('Run the command with --help for its usage.')
    .addHelpText('after', SETTINGS_HELP);

  const add = (parent: Command, usage: string, description: string): Command =>
    parent
      .command(usage)
      .description(description)
      .option('--base-url <url>', 'address of the service')
      .option('--token <token>', 'personal access token')
      .option('--data-dir <folder>', 'take both from a local system with this data folder');

  const addReading = (usage: string, description: string): Command =>
    add(program, usage, description).addOption(
      new Option('--anonymous', 'send no token, even if one is configured').conflicts('token'),
    );

  add(program, 'login', 'Save the address and token of a repository.').action(
    async (options: ConnectionOptions) => {
      await login({ terminal, connectTo, file: storedLogin }, await findSettings(options));
    },
  );

  const packages = program.command('package').description('Work with knowledge packages.');
  add(
    packages,
    'load <folder>',
    'Create a package and its resources from a folder with a knowledge-package.json.',
  )
    .option('--publish', 'publish the package with its resources', false)
    .addOption(concurrencyOption())
    .option('--json', 'print ids, DOIs, links and files as JSON', false)
    .action(
      (
        folder: string,
        options: ConnectionOptions & { publish: boolean; json: boolean; concurrency: number },
      ) => load(contextOf(options), resolve(cwd, folder), options),
    );

  addReading('get <id>', 'Show a resource or package by its id, DOI or link.')
    .option('--draft', 'show the draft; a link to a draft implies it', false)
    .option('--json', 'print the whole document', false)
    .action((id: string, options: ConnectionOptions & { draft: boolean; json: boolean }) =>
      get(contextOf(options), id, options),
    );

  add(program, 'audit-log <id>', 'Show who did what to your resource or package, also when it is deleted.')
    .option('--size <n>', 'entries on a page, 1 to 100', wholeNumber(1, 100), 25)
    .option('--page <n>', 'which page, from 1', wholeNumber(1, 10_000), 1)
    .option('--json', 'print the whole answer', false)
    .action((id: string, options: ConnectionOptions & AuditLogOptions) =>
      auditLog(contextOf(options), id, options),
    );

  addReading('search [query]', 'Find published resources and packages.')
    .addOption(new Option('--kind <kind>', 'only this kind').choices(['record', 'package']))
    .option('--size <n>', 'hits on a page, 1 to 1000', wholeNumber(1, 1_000), 10)
    .option('--page <n>', 'which page, from 1', wholeNumber(1, 10_000), 1)
    .option('--sort <order>', 'an order of the service, such as newest')
    .option('--json', 'print the whole answer', false)
    .action(
      (
        query: string | undefined,
        options: ConnectionOptions & {
          kind?: EntityKind;
          size: number;
          page: number;
          sort?: string;
          json: boolean;
        },
      ) => search(contextOf(options), query ?? '', options),
    );

  addReading(
    'download <id>',
    'Download the files of a resource or package, by its id, DOI or link, and check them.',
  )
    .option('--to <folder>', 'folder for the files (default: the id)')
    .option('--force', 'replace existing files that differ', false)
    .option('--draft', 'download files of the draft; a link to a draft implies it', false)
    .addOption(concurrencyOption())
    .option('--json', 'print what was downloaded as JSON', false)
    .action(
      (
        id: string,
        options: ConnectionOptions & {
          to?: string;
          force: boolean;
          draft: boolean;
          json: boolean;
          concurrency: number;
        },
      ) => download(contextOf(options), id, { ...options, to: options.to, cwd }),
    );

  const tokens = program.command('token').description('Your personal access tokens.');
  add(tokens, 'create <name>', 'Create a token; it is shown only once.')
    .addOption(
      new Option('--scope <scope...>', 'rights besides reading (default: write publish)').choices(SCOPES),
    )
    .option('--expires <time>', 'lifetime, such as 12h or 30d, or never (default: 90d)', lifetime)
    .option('--json', 'print it with its id, scopes and expiry as JSON', false)
    .action((name: string, options: ConnectionOptions & CreateTokenOptions) =>
      createToken(contextOf(options), name, options),
    );
  add(tokens, 'list', 'List your tokens that were not revoked.')
    .option('--json', 'print them as JSON', false)
    .action((options: ConnectionOptions & { json: boolean }) => listTokens(contextOf(options), options));
  add(tokens, 'revoke <id>', 'Revoke one of your tokens.').action((id: string, options: ConnectionOptions) =>
    revokeToken(contextOf(options), id),
  );

  const admin = program.command('admin').description('Run a local system.');
  addUserCommands(admin, { terminal, dataDirs });
  admin
    .command('vocabulary')
    .description('Vocabularies of a local system.')
    .command('import <type> <file>')
    .description('Add the entries of a CSV, JSON or YAML file to a vocabulary; known ids are replaced.')
    .option('--data-dir <folder>', 'data folder of the system')
    .option('--json', 'print the report as JSON', false)
    .action((type: string, file: string, options: { dataDir?: string; json: boolean }) =>
      importVocabulary(terminal, type, resolve(cwd, file), {
        ...options,
        dataDirs: dataDirs(options.dataDir),
      }),
    );

  const publications = admin
    .command('publications')
    .description('Publications of a local system, running and past.')
    .addHelpText('after', PUBLICATIONS_HELP);
  publications
    .command('list')
    .description('List publications, newest first.')
    .addOption(new Option('--state <state...>', 'only those in one of these states').choices(STATES))
    .option('--open', 'only unfinished publications', false)
    .option('--older-than <time>', 'only those begun longer ago, such as 30s, 5m, 2h or 1d', timeSpan, 0)
    .option('--limit <n>', 'maximum number of entries, 1 to 1000', wholeNumber(1, 1_000), 100)
    .option('--data-dir <folder>', 'data folder of the running system')
    .option('--json', 'print them as JSON', false)
    .addHelpText('after', PUBLICATIONS_HELP)
    .action(
      (options: {
        state?: string[];
        open: boolean;
        olderThan: number;
        limit: number;
        dataDir?: string;
        json: boolean;
      }) =>
        listPublications(terminal, {
          states: [...(options.state ?? []), ...(options.open ? OPEN_STATES : [])],
          isOpenOnly: options.open && options.state === undefined,
          olderThanMs: options.olderThan,
          limit: options.limit,
          json: options.json,
          dataDirs: dataDirs(options.dataDir),
        }),
    );
  publications
    .command('show <id>')
    .description('Show one publication with everything that is known of it.')
    .option('--data-dir <folder>', 'data folder of the running system')
    .option('--json', 'print it as JSON', false)
    .addHelpText('after', PUBLICATIONS_HELP)
    .action((id: string, options: { dataDir?: string; json: boolean }) =>
      showPublication(terminal, id, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );

  const files = admin.command('files').description('The stored bytes of a local system.');
  files
    .command('audit')
    .description('Show what is known of stored bytes: when they were last read, and which are not right.')
    .option('--start', 'begin to read all in the background, at the configured pace', false)
    .option('--now', 'read all at full speed, wait for it, and fail if something is not right', false)
    .option('--data-dir <folder>', 'data folder of the running system')
    .option('--json', 'print the report as JSON', false)
    .addHelpText('after', AUDIT_HELP)
    .action((options: { start: boolean; now: boolean; dataDir?: string; json: boolean }) =>
      auditFiles(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
  files
    .command('collect')
    .description('Count stored bytes that no file uses any more.')
    .option('--apply', 'remove it', false)
    .option('--data-dir <folder>', 'data folder of the running system')
    .option('--json', 'print the counts as JSON', false)
    .addHelpText('after', COLLECT_HELP)
    .action((options: { apply: boolean; dataDir?: string; json: boolean }) =>
      collectFiles(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );

  addIndexCommands(admin, terminal, dataDirs);
  addDeadLetterCommands(admin, terminal, dataDirs);
  addDoiCommands(admin, terminal, dataDirs);
  addUpkeepCommands(admin, { terminal, cwd, dataDirs });

  const quota = admin.command('quota').description('Storage limits of users, by user name or id.');
  quota
    .command('show <user>')
    .description("Show a user's storage usage and limit.")
    .option('--data-dir <folder>', 'data folder of the running system')
    .option('--json', 'print it as JSON', false)
    .action((user: string, options: { dataDir?: string; json: boolean }) =>
      showQuota(terminal, user, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
  quota
    .command('set <user>')
    .description("Set a user's storage limit, or return to the default. Stored files stay.")
    .argument('<limit>', 'bytes, or a size such as 500GB or 1.5TB, or "default"', quotaLimit)
    .option('--data-dir <folder>', 'data folder of the running system')
    .option('--json', 'print the quota as JSON', false)
    .action((user: string, limit: { bytes: number | null }, options: { dataDir?: string; json: boolean }) =>
      setQuota(terminal, user, limit.bytes, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );

  return program;
}

function addIndexCommands(
  admin: Command,
  terminal: Terminal,
  dataDirs: (dataDir: string | undefined) => string[],
): void {
  interface Options {
    dataDir?: string;
    json: boolean;
  }
  const index = admin.command('search').description('The search index of a local system.');
  const add = (parent: Command, usage: string, description: string): Command =>
    parent
      .command(usage)
      .description(description)
      .option('--data-dir <folder>', 'data folder of the running system')
      .option('--json', 'print it as JSON', false);

  add(index, 'status', 'Show what the index is, how far it is behind, and what was done with it.').action(
    (options: Options) => showIndex(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
  );
  add(index, 'reindex', 'Build the index beside the live one, which it then replaces.')
    .option('--no-wait', 'do not wait for its end')
    .addHelpText('after', REINDEX_HELP)
    .action((options: Options & { wait: boolean }) =>
      reindex(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
  const drift = (options: Options & { repair: boolean }) =>
    checkDrift(terminal, { ...options, dataDirs: dataDirs(options.dataDir) });
  add(index, 'drift', 'Compare the index with the entities of the services.')
    .option('--repair', 'mend what differs', false)
    .addHelpText('after', DRIFT_HELP)
    .action(drift);
  add(index, 'repair', 'The same as drift --repair.')
    .addHelpText('after', DRIFT_HELP)
    .action((options: Options) => drift({ ...options, repair: true }));
}

function addDeadLetterCommands(
  admin: Command,
  terminal: Terminal,
  dataDirs: (dataDir: string | undefined) => string[],
): void {
  interface Options {
    service?: EventConsumer;
    dataDir?: string;
    json: boolean;
  }
  const letters = admin
    .command('dead-letters')
    .description('Events that a service of a local system could not handle.');
  const add = (usage: string, description: string): Command =>
    letters
      .command(usage)
      .description(description)
      .addOption(
        new Option('--service <name>', 'only those of one service (default: all)').choices(EVENT_CONSUMERS),
      )
      .option('--data-dir <folder>', 'data folder of the running system')
      .option('--json', 'print JSON', false);

  add('list', 'List dead letters, the oldest first.')
    .option('--limit <n>', 'dead letters per service, 1 to 1000', wholeNumber(1, 1_000), 100)
    .action((options: Options & { limit: number }) =>
      listDeadLetters(terminal, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
  add('replay [id...]', 'Handle dead letters as new events. Letters that fail again stay.')
    .option('--all', 'replay all dead letters', false)
    .addHelpText('after', REPLAY_HELP)
    .action((ids: string[], options: Options & { all: boolean }) =>
      replayDeadLetters(terminal, ids, { ...options, dataDirs: dataDirs(options.dataDir) }),
    );
}

const REINDEX_HELP = `
Searches and changes go on all the while, and the new index takes the place of the old
one at one moment. Interrupting this command does not stop it: kr admin search status
shows how far it is. After a crash of the service it begins again by itself.`;

const DRIFT_HELP = `
A first difference may be an event in flight, so entities are compared again after all
events have arrived. The service does the same once a day,
without repairs. Exit code: 0 no differences or all repaired, 1 differences remain.`;

const REPLAY_HELP = `
Ids need --service: each service numbers its own dead letters. Remove the cause of the
failure first. Exit code: 0 all were handled, 1 some failed again or are unknown.`;

const AUDIT_HELP = `
Every object is read in the background, every 30 days by default, and compared
with the digest that was computed on arrival. The service's configuration sets interval
and speed.
docs/files.md describes how to handle damaged ones.
Exit code of --now: 0 all objects are intact, 1 some are damaged.`;

const COLLECT_HELP = `
Expired uploads, objects without a file, and bytes without a row. The service removes
them every hour or every day; this command does so at once. Objects of drafts and
published entities are never removed, nor objects without a reference
for less than 24 hours, nor bytes of running uploads.`;

const PUBLICATIONS_HELP = `
There is no command to release locks, because none is needed: every publication
ends without intervention, and releases its locks. docs/publications.md has the times.`;

const SETTINGS_HELP = `
Address and token:
  options, else KR_BASE_URL and KR_TOKEN, else the link that get or download was given,
  else the login of \`kr login\`, else the local system of this folder or project.
  A stored token is sent only to the service it was stored for.`;

function concurrencyOption(): Option {
  return new Option('--concurrency <n>', 'how many transfers at once')
    .argParser(wholeNumber(1, 16))
    .default(4);
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
