import type { FindUserResponse__Output, Quota__Output } from '@kr/contracts';
import { callAsOperator } from '../settings/call-as-operator.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { AdminOptions } from './context.ts';

/** `kr admin quota show USER`: storage usage and limit of a user, by name or id. @throws CliError if the user does not exist */
export async function showQuota(terminal: Terminal, nameOrId: string, options: AdminOptions): Promise<void> {
  const { userId, name } = await findUser(nameOrId, options);
  const { quota } = await callAsOperator('filesOperations', options.dataDirs, (files, caller) =>
    files.readQuota({ userId }, caller),
  );
  print(terminal, quota, name, options);
}

/** `kr admin quota set USER LIMIT`: a limit for the user; null: the default again. @throws CliError if the user does not exist */
export async function setQuota(
  terminal: Terminal,
  nameOrId: string,
  limitBytes: number | null,
  options: AdminOptions,
): Promise<void> {
  const { userId, name } = await findUser(nameOrId, options);
  const request = { userId, isDefault: limitBytes === null, limitBytes: limitBytes ?? 0 };
  const { quota } = await callAsOperator('filesOperations', options.dataDirs, (files, caller) =>
    files.setQuota(request, caller),
  );
  print(terminal, quota, name, options);
}

/** The files service knows users by id only, and any id is one to it. */
function findUser(nameOrId: string, { dataDirs }: AdminOptions): Promise<FindUserResponse__Output> {
  return callAsOperator('identity', dataDirs, (identity, caller) => identity.findUser({ nameOrId }, caller));
}

function print(terminal: Terminal, quota: Quota__Output | null, name: string, { json }: AdminOptions): void {
  if (quota === null) return;
  if (json) terminal.print(JSON.stringify(quotaJson(quota, name), null, 2));
  else for (const line of table(rows(quota, name))) terminal.print(line);
}

function quotaJson({ userId, usedBytes, reservedBytes, limitBytes, isDefault }: Quota__Output, name: string) {
  return {
    user: name,
    user_id: userId,
    used_bytes: Number(usedBytes),
    reserved_bytes: Number(reservedBytes),
    limit_bytes: Number(limitBytes),
    is_default: isDefault,
  };
}

function rows(quota: Quota__Output, name: string): string[][] {
  const { user_id, used_bytes, reserved_bytes, limit_bytes, is_default } = quotaJson(quota, name);
  return [
    ['user', `${name} (id ${user_id})`],
    ['used', formatBytes(used_bytes)],
    ['reserved', `${formatBytes(reserved_bytes)} for uploads in progress`],
    ['limit', `${formatBytes(limit_bytes)} (${is_default ? 'default' : 'set for this user'})`],
    ['left', formatBytes(Math.max(0, limit_bytes - used_bytes - reserved_bytes))],
  ];
}
