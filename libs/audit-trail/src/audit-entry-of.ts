import type { Principal } from '@kr/caller';
import { actorOf } from './actor-of.ts';
import type { AuditAction, AuditEntry } from './audit-entry.ts';

/** What the caller does to a version of an entity at this moment. */
export function auditEntry(
  principal: Principal,
  action: AuditAction,
  { id, parentId }: { id: string; parentId: string },
  metadata: AuditEntry['metadata'] = {},
): AuditEntry {
  return { action, entityId: id, parentId, actor: actorOf(principal), metadata };
}
