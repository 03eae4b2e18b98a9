import type { AuditEntry__Output, AuditTrail__Output } from '@kr/contracts';
import type { EntityDeps } from '../entities.ts';
import { json, param } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES, type Kind } from '../kind.ts';
import { isoInstant, type Json, offsetInstant } from '../rendering/entity-json.ts';
import { type PageLimits, pageLinks, readPage } from '../rendering/page-links.ts';

export function auditLogRoutes({ kind, clients }: EntityDeps, limits: PageLimits): Operation[] {
  const { title, noun } = KIND_NAMES[kind];
  return [
    {
      method: 'GET',
      path: `/api/${COLLECTION[kind]}/:id/audit-log`,
      cost: 'auditLog',
      lane: 'search',
      operationId: `read${title}AuditLog`,
      summary: `The changes of all versions of the ${noun}, with their actors, newest first; also when it is deleted.`,
      parameters: ['size', 'page'],
      responses: { 200: 'AuditLog' },
      errors: [400, 403, 404],
      handler: async (call) => {
        // Each service has its own entries; a page needs the newest of each.
        const { size, page } = readPage(call.query, {
          pageMaxSize: Math.min(limits.pageMaxSize, MAX_PAGE_SIZE),
        });
        const { principal, signal } = call;
        const limit = page * size;
        const request = { id: param(call, 'id'), limit };
        const ofEntity = await clients.lifecycle[kind].readAuditLog(request, principal, { signal });
        const others = await Promise.all([
          clients.files.readFileTrail({ ticket: ofEntity.filesTicket, limit }, principal, { signal }),
          clients.accessLinks.readLinkTrail({ ticket: ofEntity.accessLinksTicket, limit }, principal, {
            signal,
          }),
        ]);
        const trails = [...ofEntity.trails, ...others.flatMap(({ trail }) => trail ?? [])];
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
      },
    },
  ];
}

/**
 * The newest entries of several trails. Each trail is sorted newest first and complete up to `limit` entries. Entries of the same
 * millisecond keep the order of their trail.
 */
export function newestOf(
  trails: readonly Pick<AuditTrail__Output, 'entries'>[],
  limit: number,
): AuditEntry__Output[] {
  return trails
    .flatMap(({ entries }) => entries)
    .sort((a, b) => instantOf(b) - instantOf(a))
    .slice(0, limit);
}

/** Milliseconds since 1970. */
function instantOf({ createdAt }: AuditEntry__Output): number {
  return createdAt === null ? 0 : Number(createdAt.seconds) * 1_000 + createdAt.nanos / 1_000_000;
}

/** The public form of an entry of the audit trail. */
function auditEntryJson(
  { id, createdAt, action, entityId, actor, metadataJson }: AuditEntry__Output,
  kind: Kind,
): Json {
  return {
    id,
    created: createdAt === null ? null : offsetInstant(isoInstant(createdAt)),
    action,
    resource: { type: kind, id: entityId },
    user: named(actor?.userId),
    access_links: (actor?.linkIds ?? []).map((linkId) => ({ id: linkId })),
    service: named(actor?.service),
    token: named(actor?.tokenId),
    request_id: actor?.requestId ?? null,
    trace_id: actor?.traceId || null,
    metadata: JSON.parse(Buffer.from(metadataJson).toString()),
  };
}

function named(id: string | undefined): { id: string } | null {
  return id ? { id } : null;
}

const MAX_PAGE_SIZE = 100;
