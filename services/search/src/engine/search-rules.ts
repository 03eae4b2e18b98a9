import type { EntityKind } from '../documents/entity.ts';
import type { Scope, Viewer } from './search-engine.ts';

/** Documents that a viewer may read: all, or those with one of these properties. */
export type Readable =
  | 'all'
  | {
      /** The record is public, or its embargo has ended. */
      isPublic: boolean;
      ownerId: string | null;
      /** The parent, or the package that manages it, is one of these: links of packages open their resources. */
      parentIds: readonly string[];
    };

export function readablePublished({ seesAll, userId, viewParentIds }: Viewer): Readable {
  return seesAll ? 'all' : { isPublic: true, ownerId: userId, parentIds: viewParentIds };
}

/** Drafts; in listings of the viewer's entities also the published forms. Administrators list only their own. */
export function readableDrafts(
  { seesAll, userId, previewParentIds }: Viewer,
  { forms }: Pick<Scope, 'forms'>,
): Readable {
  if (seesAll && forms !== 'own') return 'all';
  return { isPublic: false, ownerId: userId, parentIds: previewParentIds };
}

/** The documents that suggestions come from. */
export function suggestScope(kinds: readonly EntityKind[]): Scope {
  return { forms: 'published', kinds, latestOnly: true, onlyIds: null, publishedIds: [] };
}

/** The facet that has values within values: `outer::inner`. */
export const NESTED_FACET = 'resource_type';

const SEPARATOR = '::';

/** The outer and the inner value of a value within another one; null for other values. */
export function nestedValue(facet: string, value: string): { outer: string; inner: string } | null {
  const end = facet === NESTED_FACET ? value.indexOf(SEPARATOR) : -1;
  return end < 0 ? null : { outer: value.slice(0, end), inner: value.slice(end + SEPARATOR.length) };
}

/** The values that narrow a search: a selected outer value is replaced by its selected inner values. */
export function narrowingValues(facet: string, selected: readonly string[]): string[] {
  const replaced = new Set(selected.flatMap((value) => nestedValue(facet, value)?.outer ?? []));
  return selected.filter((value) => !replaced.has(value));
}
