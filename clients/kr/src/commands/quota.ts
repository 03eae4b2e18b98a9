import type { Quota__Output } from '@kr/contracts';
import { askAsOperator } from '../settings/ask-as-operator.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';

export interface QuotaOptions {
  json: boolean;
  dataDirs: readonly string[];
}

/** `kr admin quota show USER-ID`: what the files of a user use, and may. */
export async function showQuota(terminal: Terminal, userId: string, options: QuotaOptions): Promise<void> {
  const { quota } = await askAsOperator('filesOperations', options.dataDirs, (files, caller) =>
    files.readQuota({ userId }, caller),
  );
  print(terminal, quota, options);
}

/** `kr admin quota set USER-ID LIMIT`: a limit of the user's own; null: the usual one again. */
export async function setQuota(
  terminal: Terminal,
  userId: string,
  limitBytes: number | null,
  options: QuotaOptions,
): Promise<void> {
  const asked = { userId, isDefault: limitBytes === null, limitBytes: limitBytes ?? 0 };
  const { quota } = await askAsOperator('filesOperations', options.dataDirs, (files, caller) =>
    files.setQuota(asked, caller),
  );
  print(terminal, quota, options);
}

function print(terminal: Terminal, quota: Quota__Output | null, { json }: QuotaOptions): void {
  if (quota === null) return;
  if (json) terminal.print(JSON.stringify(quotaJson(quota), null, 2));
  else for (const line of table(rows(quota))) terminal.print(line);
}

function quotaJson({ userId, usedBytes, promisedBytes, limitBytes, isDefault }: Quota__Output) {
  return {
    user_id: userId,
    used_bytes: Number(usedBytes),
    promised_bytes: Number(promisedBytes),
    limit_bytes: Number(limitBytes),
    is_default: isDefault,
  };
}

function rows(quota: Quota__Output): string[][] {
  const { user_id, used_bytes, promised_bytes, limit_bytes, is_default } = quotaJson(quota);
  return [
    ['user', user_id],
    ['used', formatBytes(used_bytes)],
    ['promised', `${formatBytes(promised_bytes)} to uploads under way`],
    ['limit', `${formatBytes(limit_bytes)} (${is_default ? 'the usual one' : 'their own'})`],
    ['left', formatBytes(Math.max(0, limit_bytes - used_bytes - promised_bytes))],
  ];
}
