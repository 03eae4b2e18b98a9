import type { FileCounts, LifecycleDeps } from './lifecycle-deps.ts';
import type { StoredDocument } from './stored-document.ts';

/**
 * File counts of drafts, by id; empty ones may be absent. A draft whose files are disabled has none: files
 * cannot be disabled while there are any, nor added afterwards. So it needs no call.
 */
export async function draftCounts(
  { describeBuckets }: Pick<LifecycleDeps, 'describeBuckets'>,
  drafts: readonly { id: string; document: StoredDocument }[],
): Promise<ReadonlyMap<string, FileCounts>> {
  const ids = drafts.filter(({ document }) => document.files.enabled).map(({ id }) => id);
  return ids.length === 0 ? new Map() : describeBuckets(ids);
}
