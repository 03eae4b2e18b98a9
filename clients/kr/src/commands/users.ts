import type { ListTokensResponse__Output, User__Output } from '@kr/contracts';
import { CliError } from '../cli-error.ts';
import { callAsOperator } from '../settings/call-as-operator.ts';
import { findAdminEndpoint } from '../settings/runtime.ts';
import { readLocalLogin } from '../settings/stored-login.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';

const PAGE = 1_000;

export interface CreateUserOptions extends AdminOptions {
  admin: boolean;
  /** An existing user gets a further token. */
  token: boolean;
  /** Lifetime of the token in milliseconds. Undefined: as the service has it. */
  expires?: number | 'never';
}

/** `kr admin user create NAME`: a user with a token, created by the operator of a system. */
export async function createUser(
  terminal: Terminal,
  name: string,
  { admin, token, expires, json, dataDirs }: CreateUserOptions,
): Promise<void> {
  if (expires === 0)
    throw new CliError('The lifetime of a token must be more than 0: --expires 12h, 30d or never.');
  const request = {
    name,
    isAdmin: admin,
    addsToken: token,
    ...(expires !== undefined && { tokenLifetimeMs: expires === 'never' ? 0 : expires }),
  };
  const created = await callAsOperator('identity', dataDirs, (identity, caller) =>
    identity.createUser(request, caller),
  );
  const { baseUrl } = await readLocalLogin((await findAdminEndpoint(dataDirs, 'gateway')).folder);
  // The fields that a local system's credentials.json has too are named as there.
  const user = {
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    user: created.name,
    user_id: created.userId,
    is_admin: created.isAdmin,
    token: created.token,
    token_id: created.tokenId,
    expires_at: created.tokenExpiresAt || null,
  };
  if (json) return terminal.print(JSON.stringify(user, null, 2));
  for (const [field, value] of Object.entries(user)) terminal.print(`${field.padEnd(11)}${value ?? 'never'}`);
}

/** `kr admin user list` */
export async function listUsers(terminal: Terminal, { json, dataDirs }: AdminOptions): Promise<void> {
  const users = await callAsOperator('identity', dataDirs, async (identity, caller) => {
    const all: User__Output[] = [];
    for (;;) {
      const afterId = all.at(-1)?.id ?? '';
      const page = await identity.listUsers({ afterId, limit: PAGE }, caller);
      all.push(...page.users);
      if (page.users.length < PAGE) return all;
    }
  });
  if (json) return terminal.print(JSON.stringify(users.map(userJson), null, 2));
  const rows = users.map(({ id, name, isAdmin, createdAt, disabledAt, issuer }) => [
    id,
    name,
    isAdmin ? 'yes' : 'no',
    createdAt,
    disabledAt === '' ? 'no' : `since ${disabledAt}`,
    issuer || '-',
  ]);
  for (const line of table([['ID', 'NAME', 'ADMIN', 'CREATED', 'DISABLED', 'IDENTITY PROVIDER'], ...rows]))
    terminal.print(line);
}

/** `kr admin user disable NAME` and `enable NAME` */
export async function setUserDisabled(
  terminal: Terminal,
  name: string,
  isDisabled: boolean,
  { json, dataDirs }: AdminOptions,
): Promise<void> {
  const { user } = await callAsOperator('identity', dataDirs, (identity, caller) =>
    identity.setUserDisabled({ name, isDisabled }, caller),
  );
  if (json && user !== null) terminal.print(JSON.stringify(userJson(user), null, 2));
  else terminal.note(`User ${name} is ${isDisabled ? 'disabled' : 'enabled'}.`);
}

/** `kr admin user tokens NAME`: the tokens of a user, without their secrets. */
export async function listUserTokens(
  terminal: Terminal,
  name: string,
  { json, dataDirs }: AdminOptions,
): Promise<void> {
  const { tokens } = await callAsOperator('identity', dataDirs, (identity, caller) =>
    identity.listTokens({ name }, caller),
  );
  if (json) return terminal.print(JSON.stringify(tokens.map(tokenJson), null, 2));
  const rows = tokens.map((token) => [
    token.id,
    token.name,
    ['read', ...token.scopes].join(','),
    token.expiresAt || 'never',
    token.lastUsedAt || 'never',
  ]);
  for (const line of table([['ID', 'NAME', 'SCOPES', 'EXPIRES', 'LAST USED (HOUR)'], ...rows]))
    terminal.print(line);
}

/** `kr admin user revoke-token NAME ID…` */
export async function revokeUserTokens(
  terminal: Terminal,
  name: string,
  ids: readonly string[],
  { all, json, dataDirs }: AdminOptions & { all: boolean },
): Promise<void> {
  if (all === ids.length > 0) throw new CliError('Pass the ids of tokens, or --all.');
  const { tokenIds } = await callAsOperator('identity', dataDirs, (identity, caller) =>
    identity.revokeTokens({ name, tokenIds: [...ids] }, caller),
  );
  if (json) terminal.print(JSON.stringify({ revoked: tokenIds }, null, 2));
  else terminal.note(`${tokenIds.length} tokens of ${name} revoked.`);
}

/** `kr admin user audit-log NAME` */
export async function showUserAuditLog(
  terminal: Terminal,
  name: string,
  { limit, json, dataDirs }: AdminOptions & { limit: number },
): Promise<void> {
  const { entries } = await callAsOperator('identity', dataDirs, (identity, caller) =>
    identity.readUserAuditLog({ name, limit }, caller),
  );
  if (json) {
    const output = entries.map(({ createdAt, action, service, requestId, metadata }) => ({
      created: createdAt,
      action,
      service,
      request_id: requestId,
      metadata: JSON.parse(metadata) as unknown,
    }));
    return terminal.print(JSON.stringify(output, null, 2));
  }
  const rows = entries.map(({ createdAt, action, metadata }) => [createdAt, action, metadata]);
  for (const line of table([['TIME', 'ACTION', 'DETAILS'], ...rows])) terminal.print(line);
}

function userJson({ id, name, isAdmin, createdAt, disabledAt, issuer }: User__Output) {
  return {
    user_id: id,
    user: name,
    is_admin: isAdmin,
    created: createdAt,
    disabled_at: disabledAt || null,
    issuer: issuer || null,
  };
}

function tokenJson(token: ListTokensResponse__Output['tokens'][number]) {
  const { id, name, scopes, createdAt, expiresAt, lastUsedAt } = token;
  return {
    id,
    name,
    scopes,
    created: createdAt,
    expires_at: expiresAt || null,
    last_used: lastUsedAt || null,
  };
}
