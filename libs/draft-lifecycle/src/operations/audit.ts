import { allows } from '@kr/access-policy';
import { type AuditAction, type AuditEntry, auditEntry, findDeletedEntity, readTrail } from '@kr/audit-trail';
import { type Principal, signTicket, type TicketAudience } from '@kr/caller';
import type { ReadAuditLogRequest__Output, ReadAuditLogResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { findEntities, type LifecycleContext, notFoundErrors, requireDraft } from '../context/context.ts';
import { assertAllowedOn } from '../model/access.ts';
import type { Entity } from '../model/entity.ts';
import { isEntityId } from '../model/ids.ts';
import { TICKET_LIFETIME_MS } from './authorise-action.ts';

/** Audit entry for an action of the caller on a version of an entity. */
export function entityEntry(
  principal: Principal,
  action: AuditAction,
  { id, parent }: Pick<Entity, 'id' | 'parent'>,
  metadata: AuditEntry['metadata'],
): AuditEntry {
  return auditEntry(principal, action, { id, parentId: parent.id, managedBy: parent.managedBy }, metadata);
}

const MAX_ENTRIES = 10_000;

/**
 * RPC ReadAuditLog.
 *
 * @throws ServiceError - `invalid`: not 1 to 10000 entries - `not_found`: no such entity, nor a former one
 * that the caller may know - `unauthenticated`, `forbidden`: not allowed - `unavailable`: it is staged and
 * the coordinator cannot be reached
 */
export function readAuditLog(context: LifecycleContext) {
  return async (
    { id, limit }: ReadAuditLogRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadAuditLogResponse> => {
    if (limit < 1 || limit > MAX_ENTRIES)
      throw new ServiceError('invalid', `Not more than ${MAX_ENTRIES} entries at once.`);
    const entity = (await findEntities(context, [id])).get(id);
    const parentId =
      entity === undefined
        ? await parentOfDeleted(context, id, principal)
        : permittedParent(context, entity, principal);
    return {
      parentId,
      trails: [
        await readTrail(context.database, parentId, limit),
        ...((await context.furtherTrails?.(parentId, limit, principal.requestId)) ?? []),
      ],
      filesTicket: ticketFor(context, 'files', { id, parentId, principal }),
      accessLinksTicket: ticketFor(context, 'access-links', { id, parentId, principal }),
    };
  };
}

function permittedParent({ now }: LifecycleContext, entity: Entity, principal: Principal): string {
  assertAllowedOn(principal, 'read_audit_log', entity, entity.published ?? requireDraft(entity), now());
  return entity.parent.id;
}

async function parentOfDeleted(context: LifecycleContext, id: string, principal: Principal): Promise<string> {
  const deleted = isEntityId(id) ? await findDeletedEntity(context.database, id) : undefined;
  if (deleted !== undefined) {
    const { parentId, ownerId } = deleted;
    const closed = { recordAccess: 'restricted', filesAccess: 'restricted' } as const;
    if (allows(principal, 'read_audit_log', { parentId, ownerIds: [ownerId], ...closed })) return parentId;
  }
  throw (await notFoundErrors(context, [id]))(id);
}

function ticketFor(
  { ticketKeys, now }: LifecycleContext,
  audience: TicketAudience,
  { id, parentId, principal }: { id: string; parentId: string; principal: Principal },
): string {
  const ticket = {
    audience,
    entityId: id,
    parentId,
    form: 'draft' as const,
    actions: ['read_audit_log'],
    sourceEntityId: null,
    userId: principal.userId,
    expiresAt: now().getTime() + TICKET_LIFETIME_MS,
  };
  return signTicket(ticket, ticketKeys[audience]);
}
