import type { Scope, Viewer } from '../search-engine.ts';
import { NOTHING, type Query } from './compile-query.ts';
import { microsOf } from './instants.ts';

const EVERYTHING: Query = { match_all: {} };

/** The live documents that a listing may show to a viewer, all of which have to match. */
export function scopeFilters(scope: Scope, viewer: Viewer, now: Date): Query[] {
  return [
    { term: { isLive: true } },
    { terms: { kind: [...scope.kinds] } },
    scope.onlyIds === null ? { term: { isAnnounced: true } } : { terms: { id: [...scope.onlyIds] } },
    ...formFilters(scope, viewer, now),
  ];
}

function formFilters({ forms, latestOnly }: Scope, viewer: Viewer, now: Date): Query[] {
  const isDraft: Query = { term: { form: 'draft' } };
  const isPublished: Query = { term: { form: 'published' } };
  const hasDraft: Query = { term: { hasDraft: true } };
  switch (forms) {
    case 'published':
      return [isPublished, mayRead(viewer, now), ...(latestOnly ? [{ term: { isLatest: true } }] : [])];
    case 'own':
      return [
        anyOf([isDraft, { bool: { must_not: [hasDraft] } }]),
        mayReadDraft({ ...viewer, seesAll: false }),
        ...(latestOnly ? [{ term: { isLatestDraft: true } }] : []),
      ];
    case 'either': {
      const draft = mayReadDraft(viewer);
      const hidden: Query = { bool: { filter: [hasDraft, draft] } };
      return [
        anyOf([
          { bool: { filter: [isDraft, draft] } },
          { bool: { filter: [isPublished, mayRead(viewer, now)], must_not: [hidden] } },
        ]),
        ...(latestOnly ? [{ term: { isLatestDraft: true } }] : []),
      ];
    }
  }
}

/** Published forms: what is public, what is one's own, what a link opens. */
function mayRead(viewer: Viewer, now: Date): Query {
  if (viewer.seesAll) return EVERYTHING;
  return anyOf([
    { term: { recordAccess: 'public' } },
    { range: { embargoUntil: { lte: microsOf(now.toISOString()) } } },
    ...personal(viewer.userId, viewer.viewParentIds),
  ]);
}

function mayReadDraft(viewer: Viewer): Query {
  if (viewer.seesAll) return EVERYTHING;
  const conditions = personal(viewer.userId, viewer.previewParentIds);
  return conditions.length > 0 ? anyOf(conditions) : NOTHING;
}

/** What links of parents open: a package's open the resources that it manages. */
function personal(userId: string | null, parentIds: readonly string[]): Query[] {
  return [
    ...(userId === null ? [] : [{ term: { ownerId: userId } }]),
    ...(parentIds.length === 0
      ? []
      : [{ terms: { parentId: [...parentIds] } }, { terms: { managedBy: [...parentIds] } }]),
  ];
}

function anyOf(should: Query[]): Query {
  return { bool: { should, minimum_should_match: 1 } };
}
