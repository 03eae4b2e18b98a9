import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, json } from '../http/endpoint.ts';
import { type PageLimits, readPage } from '../search/read-page.ts';

/** GET /api/{kind}/removed: what administrators have removed, the latest first. */
export function listRemovals({ kind, clients }: EntityDeps, limits: PageLimits): Endpoint {
  return async ({ query, principal, signal }) => {
    const page = readPage(query, limits);
    const { total, removals } = await clients.lifecycle[kind].listRemovals(page, principal, { signal });
    const hits = removals.map(({ id, reason, note, removedBy, removedAt, citation, purgedAt }) => ({
      id,
      tombstone: {
        removal_reason: { id: reason },
        note,
        removed_by: { user: removedBy },
        removal_date: removedAt,
        citation_text: citation,
        is_visible: true,
      },
      files_deleted: purgedAt === '' ? null : purgedAt,
    }));
    return json(200, { hits: { hits, total } });
  };
}
