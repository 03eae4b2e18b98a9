import { type AuditEntry, ticketEntry } from '@kr/audit-trail';
import type { Principal, Ticket } from '@kr/caller';
import { newEvent, type OutboxEvent } from '@kr/event-bus';
import type { Link } from '../link.ts';

/** Audit entry of a created, changed or revoked link; never contains a token. */
export function linkEntry(
  verb: 'create' | 'update' | 'revoke',
  { linkId, permission, expiresAt }: Link,
  opened: Ticket,
  principal: Principal,
): AuditEntry {
  const metadata = { link: linkId, permission, expires_at: expiresAt?.toISOString() ?? null };
  return ticketEntry(principal, `link.${verb}`, opened, metadata);
}

/** Event of a created, changed or revoked link; never contains a token. */
export function linkEvent(verb: 'created' | 'changed' | 'revoked', link: Link): OutboxEvent {
  const { linkId, parentId, permission } = link;
  const revision = String(link.revision);
  return newEvent(
    `knowledge.access-links.link.${verb}`,
    { id: linkId, parentId, permission, revision },
    { aggregateId: linkId, revision },
  );
}
