import type { Entity, Form } from './entity.ts';

/** `versions` of the public document. Drafts are visible to editors only. */
export function versionsOf(
  entity: Pick<Entity, 'published' | 'versionIndex' | 'latestIndex' | 'lastIndex'>,
  canSeeDrafts: boolean,
): { is_latest: boolean; is_latest_draft?: boolean; index: number } {
  const { published, versionIndex, latestIndex, lastIndex } = entity;
  return {
    is_latest: isLatest({ published, versionIndex, latestIndex }),
    ...(canSeeDrafts ? { is_latest_draft: versionIndex === lastIndex } : {}),
    index: versionIndex,
  };
}

/** Derived, never stored: the highest version that is published. */
export function isLatest({
  published,
  versionIndex,
  latestIndex,
}: Pick<Entity, 'published' | 'versionIndex' | 'latestIndex'>): boolean {
  return published !== null && versionIndex === latestIndex;
}

export type Status = 'draft' | 'published' | 'new_version_draft';

/** An edit draft keeps the status of its published version. */
export function statusOf({ published, versionIndex }: Pick<Entity, 'published' | 'versionIndex'>): Status {
  if (published !== null) return 'published';
  return versionIndex === 1 ? 'draft' : 'new_version_draft';
}

/** `is_published`: kinds differ on the draft of a published entity. */
export function isPublished(
  { published }: Pick<Entity, 'published'>,
  form: Form,
  isEditDraftPublished: boolean,
): boolean {
  return published !== null && (form === 'published' || isEditDraftPublished);
}
