import type { ApiClient } from '../api/api-client.ts';
import { ApiError } from '../api/api-error.ts';
import { COLLECTIONS, referenceIn } from '../api/entity.ts';
import { table } from '../terminal/table.ts';
import type { CommandContext } from './context.ts';

export interface AuditLogOptions {
  size: number;
  page: number;
  json: boolean;
}

interface AuditEntry {
  created: string;
  action: string;
  resource: { id: string };
  user: { id: string } | null;
  access_links: readonly { id: string }[];
  service: { id: string } | null;
  metadata: Readonly<Record<string, unknown>>;
}

interface AuditLog {
  hits: { hits: readonly AuditEntry[]; total: number };
}

/** `kr audit-log ID`: what was done to one resource or package, the newest first; also when it is deleted. */
export async function auditLog(
  { terminal, connect }: CommandContext,
  id: string,
  { size, page, json }: AuditLogOptions,
): Promise<void> {
  const { id: wantedId, link } = referenceIn(id);
  const answer = await findLog(await connect(link), wantedId, { size: `${size}`, page: `${page}` });
  if (json) return terminal.print(JSON.stringify(answer, null, 2));
  const { hits, total } = answer.hits;
  const rows = hits.map((entry) => [
    entry.created,
    entry.action,
    entry.resource.id,
    actorLabel(entry),
    JSON.stringify(entry.metadata),
  ]);
  for (const line of table([['WHEN', 'WHAT', 'VERSION', 'WHO', 'WITH'], ...rows])) terminal.print(line);
  terminal.note(`${hits.length} of ${total} entries`);
}

/** The kind of a deleted entity is unknown, so both are tried. */
async function findLog(api: ApiClient, id: string, query: Record<string, string>): Promise<AuditLog> {
  const logOf = (collection: string) =>
    api.call<AuditLog>({ method: 'GET', target: `${collection}/${id}/audit-log`, query });
  try {
    return await logOf(COLLECTIONS.record);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
  return logOf(COLLECTIONS.package);
}

function actorLabel({ user, access_links: links, service }: AuditEntry): string {
  if (user !== null) return `user ${user.id}`;
  if (service !== null) return `service ${service.id}`;
  return links.map((link) => `link ${link.id}`).join(', ');
}
