import type { LinkGrant, Principal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { type Action, type GeneralAction, POLICY, type Role, SCOPE_OF } from './policy.ts';

/** The facts about an entity that a decision needs. */
export interface AccessSubject {
  /** Shared by all versions of the entity; links are granted on it. */
  parentId: string;
  /** The parent of the package that manages a resource: the package's links open its resources too. */
  managedBy?: string | null;
  ownerIds: readonly string[];
  /** With the embargo already applied. */
  recordAccess: 'public' | 'restricted';
  filesAccess: 'public' | 'restricted';
}

/** Only an action on no entity in particular can be decided without one. */
export type SubjectOf<A extends Action> = A extends GeneralAction ? AccessSubject | null : AccessSubject;

/** Whether the caller may do the action on this entity, by `POLICY`. */
export function allows<A extends Action>(principal: Principal, action: A, subject: SubjectOf<A>): boolean {
  return isOpenTo(rolesOf(principal, subject, isInScope(principal, action)), action);
}

function isOpenTo(roles: ReadonlySet<Role>, action: Action): boolean {
  return POLICY[action].some((role) => roles.has(role));
}

function isInScope({ scopes }: Principal, action: Action): boolean {
  const scope = SCOPE_OF[action];
  return scope === null || scopes.includes(scope);
}

/**
 * Lets the caller pass or throws.
 *
 * @throws ServiceError
 *   - `unauthenticated`: the action always needs credentials and the caller has none; a link that holds is one
 *   - `forbidden` (code `insufficient_scope`): the user may, but not with this token
 *   - `forbidden`: in every other case
 */
export function authorise<A extends Action>(principal: Principal, action: A, subject: SubjectOf<A>): void {
  if (allows(principal, action, subject)) return;
  if (!hasCredentials(principal) && needsCredentials(action)) {
    throw new ServiceError('unauthenticated', 'Authentication required.');
  }
  if (isOpenTo(rolesOf(principal, subject, true), action)) {
    throw new ServiceError('forbidden', `The access token lacks the scope ${SCOPE_OF[action]}.`, {
      code: 'insufficient_scope',
    });
  }
  throw new ServiceError('forbidden', 'Permission denied.');
}

/** A user role is granted only if the token is in scope. */
function rolesOf(principal: Principal, subject: AccessSubject | null, isInScope: boolean): ReadonlySet<Role> {
  const userId = isInScope ? principal.userId : null;
  const roles = new Set<Role>(['anyone']);
  if (principal.service !== null) roles.add('service');
  if (userId !== null) roles.add('authenticated');
  if (userId !== null && principal.isAdmin) roles.add('admin');
  if (subject === null) return roles;

  if (subject.recordAccess === 'public') roles.add('anyone_if_record_public');
  if (subject.recordAccess === 'public' && subject.filesAccess === 'public')
    roles.add('anyone_if_files_public');
  if (userId !== null && subject.ownerIds.includes(userId)) roles.add('owner');
  for (const { parentId, permission } of principal.grants) {
    if (parentId === subject.parentId || parentId === subject.managedBy) roles.add(LINK_ROLES[permission]);
  }
  return roles;
}

const LINK_ROLES: Readonly<Record<LinkGrant['permission'], Role>> = {
  view: 'view_link',
  preview: 'preview_link',
  edit: 'edit_link',
};

function hasCredentials(principal: Principal): boolean {
  return principal.userId !== null || principal.service !== null || principal.grants.length > 0;
}

/** True unless the action is open to everybody on some entities. */
function needsCredentials(action: Action): boolean {
  return !POLICY[action].some((role) => role.startsWith('anyone'));
}
