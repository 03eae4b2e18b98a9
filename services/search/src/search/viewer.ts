import type { Principal } from '@kr/caller';
import type { Viewer } from '../engine/search-engine.ts';

/** What a caller may see of the index. */
export function viewerOf({ userId, isAdmin, service, grants }: Principal): Viewer {
  const parentsOf = (permissions: readonly string[]) => [
    ...new Set(
      grants.filter(({ permission }) => permissions.includes(permission)).map(({ parentId }) => parentId),
    ),
  ];
  return {
    seesAll: isAdmin || service !== null,
    userId,
    viewParentIds: parentsOf(['view', 'preview', 'edit']),
    previewParentIds: parentsOf(['preview', 'edit']),
  };
}
