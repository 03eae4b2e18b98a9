import type { FileCounts, LifecycleDeps } from './lifecycle-deps.ts';
import type { StoredDocument } from './stored-document.ts';

/**
 * What the buckets of drafts hold, by id; an empty one may be left out. A draft whose files are disabled has none: they
 * cannot be disabled while there are any, nor added after that. So nobody is asked about it.
 */
export async function draftCounts(
  { describeBuckets }: Pick<LifecycleDeps, 'describeBuckets'>,
  drafts: readonly { id: string; document: StoredDocument }[],
): Promise<ReadonlyMap<string, FileCounts>> {
  const ids = drafts.filter(({ document }) => document.files.enabled).map(({ id }) => id);
  return ids.length === 0 ? new Map() : describeBuckets(ids);
}
