import { type AccessSubject, allows, authorise, type EntityAction } from '@kr/access-policy';
import type { Principal } from '@kr/caller';
import { effectiveAccess } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import type { View } from './document.ts';
import type { Entity, StoredDocument } from './entity.ts';

/** The fields of a form that the policy needs. */
interface Accessible {
  readonly document: Pick<StoredDocument, 'access'>;
}

/** The fields of an entity that the policy needs. */
interface Owned {
  readonly parent: Pick<Entity['parent'], 'id' | 'ownerId' | 'managedBy'>;
}

/** Facts for the policy about one form of an entity at an instant. */
function subjectOf({ parent }: Owned, { document }: Accessible, now: Date): AccessSubject {
  const { record, files } = effectiveAccess(document.access, now);
  return {
    parentId: parent.id,
    managedBy: parent.managedBy,
    ownerIds: [parent.ownerId],
    recordAccess: record,
    filesAccess: files,
  };
}

export function isAllowedOn(
  principal: Principal,
  action: EntityAction,
  entity: Owned,
  content: Accessible,
  now: Date,
): boolean {
  return allows(principal, action, subjectOf(entity, content, now));
}

/** @throws ServiceError `forbidden` or `unauthenticated` when the caller may not */
export function assertAllowedOn(
  principal: Principal,
  action: EntityAction,
  entity: Owned,
  content: Accessible,
  now: Date,
): void {
  authorise(principal, action, subjectOf(entity, content, now));
}

/** Parts of one form that the caller may see besides its content. */
export function viewOf(
  principal: Principal,
  entity: Owned,
  content: Accessible,
  isDraft: boolean,
  now: Date,
): View {
  const subject = subjectOf(entity, content, now);
  return {
    canManage: allows(principal, 'see_parent_access', subject),
    canEdit: allows(principal, 'see_draft_state', subject),
    canReadFiles: allows(principal, isDraft ? 'read_draft_files' : 'read_files', subject),
  };
}

/**
 * Rejects principals that are no service. The server's table of callers checks only which process calls, and a process may
 * act for a user.
 *
 * @throws ServiceError `forbidden`
 */
export function assertService({ service }: Principal): void {
  if (service === null) throw new ServiceError('forbidden', 'Permission denied.');
}

/** Rejects changes of a draft that a publication has locked. @throws ServiceError `conflict` (`draft_locked`) */
export function assertUnlocked(draft: { lockedBy: string | null }): void {
  if (draft.lockedBy !== null) throw draftLocked();
}

export function draftLocked(): ServiceError {
  return new ServiceError('conflict', 'The draft is being published.', {
    code: 'draft_locked',
    retryAfterMs: 1_000,
  });
}
