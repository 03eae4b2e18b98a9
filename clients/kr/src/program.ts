import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { addAdminCommands } from './admin-commands.ts';
import { createApiClient } from './api/api-client.ts';
import { type AuditLogOptions, auditLog } from './commands/audit-log.ts';
import type { CommandContext, ConnectTo } from './commands/context.ts';
import { type DownloadOptions, download } from './commands/download.ts';
import { type GetOptions, get } from './commands/get.ts';
import { type LoadOptions, load } from './commands/load.ts';
import { login } from './commands/login.ts';
import { type SearchOptions, search } from './commands/search.ts';
import { type CreateTokenOptions, createToken, listTokens, revokeToken, SCOPES } from './commands/tokens.ts';
import { lifetime, wholeNumber } from './option-parsers.ts';
import { type LinkedService, type Settings, settingsFrom } from './settings/settings.ts';
import { loginFile, readLocalLogin, readLogin } from './settings/stored-login.ts';
import type { Terminal } from './terminal/terminal.ts';

export interface ProgramContext {
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

/** The `kr` command with all its subcommands; reads and writes through its context only. */
export function createProgram({ terminal, env, cwd, signal }: ProgramContext): Command {
  const connectTo: ConnectTo = (settings) =>
    createApiClient({
      ...settings,
      signal,
      onRetry: (reason, waitMs) => terminal.note(`${reason}; retrying in ${(waitMs / 1_000).toFixed(1)} s`),
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
      options: { baseUrl: options.baseUrl, token: options.token, from: '--token' },
      environment: {
        baseUrl: env['KR_BASE_URL'] || undefined,
        token: env['KR_TOKEN'] || undefined,
        from: 'the environment variable KR_TOKEN',
      },
      stored: options.dataDir === undefined ? [stored, ...local] : local,
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
    .version(release())
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
    .action((folder: string, options: ConnectionOptions & LoadOptions) =>
      load(contextOf(options), resolve(cwd, folder), options),
    );

  addReading('get <id>', 'Show a resource or package by its id, DOI or link.')
    .option('--draft', 'show the draft; a link to a draft implies it', false)
    .option('--json', 'print the whole document', false)
    .action((id: string, options: ConnectionOptions & GetOptions) => get(contextOf(options), id, options));

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
    .action((query: string | undefined, options: ConnectionOptions & SearchOptions) =>
      search(contextOf(options), query ?? '', options),
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
    .action((id: string, options: ConnectionOptions & DownloadOptions) =>
      download(contextOf(options), id, { ...options, cwd }),
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

  addAdminCommands(program, { terminal, cwd, dataDirs });
  return program;
}

function release(): string {
  return JSON.parse(readFileSync(join(PROJECT, 'clients/kr/package.json'), 'utf8')).version;
}

const SETTINGS_HELP = `
Address and token:
  options, else KR_BASE_URL and KR_TOKEN, else the link passed to get or download,
  else the login of \`kr login\`, else the local system of this folder or project.
  A stored token is sent only to the service it was stored for.`;

function concurrencyOption(): Option {
  return new Option('--concurrency <n>', 'how many transfers at once')
    .argParser(wholeNumber(1, 16))
    .default(4);
}
