import { type AuditAction, type AuditEntry, auditEntry } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';
import type { Entity } from './entity.ts';

/** Audit entry for an action of the caller on a version of an entity. */
export function entityEntry(
  principal: Principal,
  action: AuditAction,
  { id, parent }: Pick<Entity, 'id' | 'parent'>,
  metadata: AuditEntry['metadata'],
): AuditEntry {
  return auditEntry(principal, action, { id, parentId: parent.id, managedBy: parent.managedBy }, metadata);
}
