import type { Command } from 'commander';
import {
  type CreateUserOptions,
  createUser,
  listUsers,
  listUserTokens,
  revokeUserTokens,
  setUserDisabled,
  showUserAuditLog,
} from './commands/users.ts';
import { lifetime, wholeNumber } from './option-parsers.ts';
import type { Terminal } from './terminal/terminal.ts';

interface Options {
  dataDir?: string;
  json: boolean;
}

/** `kr admin user`: users and their tokens, for operators. */
export function addUserCommands(
  admin: Command,
  { terminal, dataDirs }: { terminal: Terminal; dataDirs(dataDir: string | undefined): string[] },
): void {
  const users = admin.command('user').description('Users of a system and their access tokens.');
  const add = (usage: string, description: string): Command =>
    users
      .command(usage)
      .description(description)
      .option('--data-dir <folder>', 'data folder of the running system')
      .option('--json', 'print JSON', false);
  const inside = <Given extends Options>(options: Given) => ({
    ...options,
    dataDirs: dataDirs(options.dataDir),
  });

  add('create <name>', 'Create a user with an access token, and print the token once.')
    .option('--admin', 'make the user an administrator', false)
    .option('--token', 'add a token if the user exists', false)
    .option(
      '--expires <time>',
      'lifetime of the token, such as 12h or 30d, or never (default: 365d)',
      lifetime,
    )
    .action((name: string, options: Options & Omit<CreateUserOptions, 'dataDirs'>) =>
      createUser(terminal, name, inside(options)),
    );
  add('list', 'List all users.').action((options: Options) => listUsers(terminal, inside(options)));
  add('disable <name>', 'Disable a user: every later request with their credentials fails.')
    .addHelpText('after', DISABLE_HELP)
    .action((name: string, options: Options) => setUserDisabled(terminal, name, true, inside(options)));
  add('enable <name>', 'Enable a disabled user.').action((name: string, options: Options) =>
    setUserDisabled(terminal, name, false, inside(options)),
  );
  add('tokens <name>', 'List the tokens of a user that were not revoked.').action(
    (name: string, options: Options) => listUserTokens(terminal, name, inside(options)),
  );
  add('revoke-token <name> [id...]', 'Revoke tokens of a user.')
    .option('--all', 'revoke all tokens of the user', false)
    .action((name: string, ids: string[], options: Options & { all: boolean }) =>
      revokeUserTokens(terminal, name, ids, inside(options)),
    );
  add('audit-log <name>', 'Show what operators did to a user, the latest first.')
    .option('--limit <n>', 'entries, 1 to 1000', wholeNumber(1, 1_000), 100)
    .action((name: string, options: Options & { limit: number }) =>
      showUserAuditLog(terminal, name, inside(options)),
    );
}

const DISABLE_HELP = `
Requests fail with 401 user_disabled, also those with a token of an identity provider.
Entities, access links and tokens of the user stay. Access links that the user created
remain valid, and tokens are valid again when the user is enabled: revoke them with
kr admin user revoke-token NAME --all.`;
