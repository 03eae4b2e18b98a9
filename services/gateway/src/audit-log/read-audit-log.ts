import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { auditEntryJson } from '../rendering/audit-entry-json.ts';
import { pageLinks } from '../search/page-links.ts';
import { type PageLimits, readPage } from '../search/read-page.ts';
import { newestOf } from './newest-of.ts';

/** The most that are shown on a page. */
const LARGEST_PAGE = 100;

/**
 * GET /api/{kind}/{id}/audit-log: what was done to the entity in all its versions, the newest first. Each service keeps
 * what it did itself; a page of all of it needs the newest of each.
 */
export function readAuditLog({ kind, clients }: EntityDeps, { pageMaxSize }: PageLimits): Endpoint {
  return async (call) => {
    const { size, page } = readPage(call.query, { pageMaxSize: Math.min(pageMaxSize, LARGEST_PAGE) });
    const { principal, signal } = call;
    const request = { id: param(call, 'id'), limit: page * size };
    const known = await clients.lifecycle[kind].readAuditLog(request, principal, { signal });
    const { limit } = request;
    const kept = await Promise.all([
      clients.files.readFileTrail({ ticket: known.filesTicket, limit }, principal, { signal }),
      clients.accessLinks.readLinkTrail({ ticket: known.accessLinksTicket, limit }, principal, { signal }),
    ]);
    const trails = [...known.trails, ...kept.flatMap(({ trail }) => trail ?? [])];
    const entries = newestOf(trails, limit).slice((page - 1) * size);
    const total = trails.reduce((sum, trail) => sum + trail.total, 0);
    return json(200, {
      hits: { hits: entries.map((entry) => auditEntryJson(entry, kind)), total },
      sortBy: 'newest',
      links: pageLinks(`${call.baseUrl}${call.path}`, {
        size,
        page,
        total,
        parameters: [['sort', 'newest']],
      }),
    });
  };
}
