import { type Caller, hasCredentials } from './callers.ts';
import { hasForm, judge, may, NO_CREDENTIALS, shownTo } from './expectation.ts';
import type { Place } from './places.ts';
import type { Access } from './states.ts';

/** A listing in which an entity may be found, or a resource of it. */
export interface ListingCell {
  documented: string;
  target: string;
  /** The search terms. */
  id: string;
  expected: (caller: Caller) => string;
}

const HIDDEN = '200 hidden';

const seen = (isShown: boolean, caller: Caller, access: Access): string =>
  isShown ? `200 shown${shownTo(caller, access)}` : HIDDEN;

/** A link adds what it opens to a user's own, but makes no user. */
const isUser = (caller: Caller): boolean => judge(caller, 'list_own', undefined) === 'may';

/** Searches for each word of a place, in every listing that there is. */
export function searchesFor(place: Place): ListingCell[] {
  const { collection, words, state, id } = place;
  const other = collection === 'records' ? 'packages' : 'records';
  return Object.entries(words).flatMap(([form, word]) => {
    const cell = (path: string, expected: ListingCell['expected']): ListingCell => ({
      documented: `GET ${path}`,
      target: `${path}?q=${word}`,
      id,
      expected,
    });
    const isLive = form === 'published';
    const published = (caller: Caller) =>
      seen(isLive && may(caller, 'read', state.published), caller, state.published);
    // The user's listings have the draft of an edited entity.
    const isListed = form === 'draft' || !hasForm(state, 'draft');
    const own = (caller: Caller) => {
      if (!isUser(caller)) return NO_CREDENTIALS;
      const mayReadDraft = may({ ...caller, isAdmin: false }, 'read_draft', state.draft);
      return seen(isListed && mayReadDraft, caller, state.draft);
    };
    return [
      cell('/api/search', published),
      cell(`/api/${collection}`, published),
      cell(`/api/${other}`, () => HIDDEN),
      cell('/api/user/search', own),
      cell(`/api/user/${collection}`, own),
    ];
  });
}

/** The lists of a package's resources. */
export function resourceLists({ id, parentId, partId, state, collection }: Place): ListingCell[] {
  if (collection !== 'packages') return [];
  const isPartPublished = state.stage !== 'draft';
  const mayReadPart = (caller: Caller) =>
    isPartPublished ? may(caller, 'read', state.published) : may(caller, 'read_draft', state.draft);
  const mayReadVersion = (caller: Caller) =>
    (hasForm(state, 'published') && may(caller, 'read', state.published)) ||
    may(caller, 'read_draft', state.draft);
  const ofDraft = (caller: Caller) => {
    if (!hasCredentials(caller)) return NO_CREDENTIALS;
    return seen(mayReadVersion(caller) && mayReadPart(caller), caller, state.draft);
  };
  // The context belongs to all versions: only callers who may read drafts see its resources.
  const ofContext = (caller: Caller) => {
    const answer = ofDraft(caller);
    return answer === NO_CREDENTIALS || may(caller, 'read_draft', state.draft) ? answer : HIDDEN;
  };
  return [
    {
      documented: 'GET /api/packages/{id}/resources',
      target: `/api/packages/${id}/resources`,
      id: partId,
      expected: (caller) =>
        seen(isPartPublished && mayReadVersion(caller) && mayReadPart(caller), caller, state.published),
    },
    {
      documented: 'GET /api/packages/{id}/draft/resources',
      target: `/api/packages/${id}/draft/resources`,
      id: partId,
      expected: ofDraft,
    },
    {
      documented: 'GET /api/packages/context/{parentId}/resources',
      target: `/api/packages/context/${parentId}/resources`,
      id: partId,
      expected: ofContext,
    },
  ];
}
