import type { Principal, Ticket } from '@kr/caller';
import { actorOf } from './actor-of.ts';
import type { AuditAction, AuditEntry } from './audit-entry.ts';

/** A version, the parent of its entity and, if it is managed by a package, the parent of that. */
interface AuditedVersion {
  id: string;
  parentId: string;
  managedBy?: string | null | undefined;
}

/** An action of the caller on a version of an entity. */
export function auditEntry(
  principal: Principal,
  action: AuditAction,
  { id, parentId, managedBy = null }: AuditedVersion,
  metadata: AuditEntry['metadata'] = {},
): AuditEntry {
  return { action, entityId: id, parentId, actor: actorOf(principal, [parentId, managedBy]), metadata };
}

/** An action of the caller on the version that the ticket was issued for. */
export function ticketEntry(
  principal: Principal,
  action: AuditAction,
  { entityId: id, parentId, managedBy }: Pick<Ticket, 'entityId' | 'parentId' | 'managedBy'>,
  metadata: AuditEntry['metadata'],
): AuditEntry {
  return auditEntry(principal, action, { id, parentId, managedBy }, metadata);
}
