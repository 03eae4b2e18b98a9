import { table } from '../terminal/table.ts';
import type { CommandContext } from './context.ts';

export const SCOPES = ['write', 'publish', 'tokens', 'admin'] as const;

interface Token {
  id: string;
  name: string;
  scopes: string[];
  expires_at: string | null;
  last_used: string | null;
}

export interface CreateTokenOptions {
  /** Undefined: as the service has it. */
  scope?: string[];
  /** In milliseconds from now. Undefined: as the service has it. */
  expires?: number | 'never';
  json: boolean;
}

/** `kr token create NAME`: creates a token of the caller and prints it; it is shown only once. */
export async function createToken(
  { terminal, connect }: CommandContext,
  name: string,
  { scope, expires, json }: CreateTokenOptions,
): Promise<void> {
  const api = await connect();
  const request = {
    name,
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(expires === undefined ? {} : { expires_at: instantIn(expires) }),
  };
  const created = await api.call<Token & { token: string }>({
    method: 'POST',
    target: '/api/user/tokens',
    json: request,
  });
  if (json) return terminal.print(JSON.stringify(created, null, 2));
  terminal.note('Save it now: it is not shown again.');
  terminal.print(created.token);
}

/** `kr token list`: the caller's tokens, without what they are. */
export async function listTokens(
  { terminal, connect }: CommandContext,
  { json }: { json: boolean },
): Promise<void> {
  const api = await connect();
  const { hits } = await api.call<{ hits: { hits: Token[] } }>({ method: 'GET', target: '/api/user/tokens' });
  if (json) return terminal.print(JSON.stringify(hits.hits, null, 2));
  const rows = hits.hits.map(({ id, name, scopes, expires_at: expiresAt, last_used: lastUsed }) => [
    id,
    name,
    ['read', ...scopes].join(','),
    expiresAt ?? 'never',
    lastUsed ?? 'never',
  ]);
  for (const line of table([['ID', 'NAME', 'SCOPES', 'EXPIRES', 'LAST USED (HOUR)'], ...rows]))
    terminal.print(line);
}

/** `kr token revoke ID`: ends one of the caller's tokens. */
export async function revokeToken({ terminal, connect }: CommandContext, id: string): Promise<void> {
  const api = await connect();
  await api.call({ method: 'DELETE', target: `/api/user/tokens/${encodeURIComponent(id)}` });
  terminal.note(`Token ${id} is revoked.`);
}

function instantIn(ms: number | 'never'): string | null {
  return ms === 'never' ? null : new Date(Date.now() + ms).toISOString();
}
