import type { AuditEntry__Output } from '@kr/contracts';
import type { Kind } from '../kind.ts';
import type { Json } from './entity-json.ts';
import { isoInstant, offsetInstant } from './timestamp.ts';

/** The public form of an entry of the audit trail. */
export function auditEntryJson(
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
