import { type Action, POLICY, type Role, SCOPE_OF } from '@kr/access-policy';
import { type Caller, hasCredentials, permissionOf } from './callers.ts';
import type { EntityRoute } from './entity-routes.ts';
import type { Place } from './places.ts';
import { type Access, areFilesPublic, isRecordPublic, type Stage, type State } from './states.ts';

/** The policy for a caller: by the table's rows alone, independent of any answer. */
export type Verdict = 'may' | 'may not' | 'needs the scope';

const HAS: Readonly<Record<'published' | 'draft', readonly Stage[]>> = {
  published: ['published', 'edited'],
  draft: ['draft', 'edited', 'version'],
};

export const hasForm = ({ stage }: State, form: 'published' | 'draft'): boolean => HAS[form].includes(stage);

export const NO_CREDENTIALS = '401 Authentication required.';
const DENIED = '403 Permission denied.';

/** The judgement on an action: on an entity of the owner's with this access, to which the caller's link belongs, or on none. */
export function judge(caller: Caller, action: Action, access: Access | undefined, isLinked = true): Verdict {
  const isOpenTo = (roles: ReadonlySet<Role>) => POLICY[action].some((role) => roles.has(role));
  const scope = SCOPE_OF[action];
  const isInScope = scope === null || (caller.scopes ?? []).includes(scope);
  if (isOpenTo(rolesOf(caller, access, isLinked, isInScope))) return 'may';
  return isOpenTo(rolesOf(caller, access, isLinked, true)) ? 'needs the scope' : 'may not';
}

function rolesOf(
  caller: Caller,
  access: Access | undefined,
  isLinked: boolean,
  isInScope: boolean,
): ReadonlySet<Role> {
  const roles = new Set<Role>(['anyone']);
  if (isInScope && caller.user !== undefined) {
    roles.add('authenticated');
    if (caller.isAdmin === true) roles.add('admin');
    if (access !== undefined && caller.user === 'owner') roles.add('owner');
  }
  if (access === undefined) return roles;
  if (isRecordPublic(access)) roles.add('anyone_if_record_public');
  if (isRecordPublic(access) && areFilesPublic(access)) roles.add('anyone_if_files_public');
  const permission = permissionOf(caller);
  if (isLinked && permission !== undefined) roles.add(`${permission}_link`);
  return roles;
}

export const may = (caller: Caller, action: Action, access: Access, isLinked = true): boolean =>
  judge(caller, action, access, isLinked) === 'may';

/** The refusal of an action, or undefined. */
export function refusal(caller: Caller, action: Action, access: Access | undefined): string | undefined {
  const verdict = judge(caller, action, access);
  if (verdict === 'may') return undefined;
  return verdict === 'may not' ? DENIED : `403 The access token lacks the scope ${SCOPE_OF[action]}.`;
}

/**
 * The expected answer to a caller on a route of an entity, in the words of `describe`. The order is that of the API:
 * credentials, existence of the form, permission, and then the route's checks.
 */
export function expectedAnswer(route: EntityRoute, caller: Caller, place: Place): string {
  const { state } = place;
  if (route.action === 'everybody') return answerOf(route, state);
  if (route.isOpen !== true && !hasCredentials(caller)) return NO_CREDENTIALS;

  const access = accessOf(route, state);
  const refused = route.action === 'nobody' ? DENIED : refusal(caller, route.action, access);
  if (route.form !== 'either' && !hasForm(state, route.form)) return absence(route, caller, place, refused);
  if (refused !== undefined) return refused;
  if (route.alsoOnLoose !== undefined && !may(caller, route.alsoOnLoose, 'restricted', false))
    return `${DENIED}: records.0.id`;
  const answer = answerOf(route, state);
  if (route.shows === 'versions')
    return state.stage === 'draft' ? `${answer} of 0` : `${answer} of 1${shownTo(caller, access)}`;
  return route.shows === 'entity' ? `${answer}${shownTo(caller, access)}` : answer;
}

/** The answer if there is no such form. */
function absence(
  route: EntityRoute,
  caller: Caller,
  { state, collection }: Place,
  refused: string | undefined,
): string {
  const absent = `404 ${route.absent ?? 'Not found.'}`;
  if (route.isRepeatable !== true) return absent;
  // For a package, the permission to publish is checked first.
  if (refused !== undefined) return collection === 'packages' ? refused : absent;
  const hasDoneIt = caller.user === 'owner';
  return hasDoneIt ? `${answerOf(route, state)}${shownTo(caller, state.published)}` : absent;
}

function answerOf({ answers }: EntityRoute, { stage }: State): string {
  return typeof answers === 'string' ? answers : (answers[stage] ?? 'nothing that is known');
}

function accessOf({ form }: EntityRoute, state: State): Access {
  if (form === 'draft') return hasForm(state, 'draft') ? state.draft : state.published;
  return hasForm(state, 'published') ? state.published : state.draft;
}

/** Parts of an entity that not every reader may see. */
export function shownTo(caller: Caller, access: Access): string {
  return [
    ...(may(caller, 'see_parent_access', access) ? [' with its owners'] : []),
    ...(may(caller, 'see_draft_state', access) ? [' with its drafts'] : []),
  ].join('');
}
