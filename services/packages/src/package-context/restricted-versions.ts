import { loadEntities } from '@kr/draft-lifecycle';
import type { PackagesContext } from '../context.ts';
import { restrictionFor } from '../resources/package-access.ts';
import type { VersionNews } from '../resources/tell-records.ts';
import { resourceIdsOf } from '../store/resource-store.ts';

/**
 * What the records service should know of drafts that were saved while they are restricted: the drafts that such a
 * package manages become as closed as it. Each with its newest change number, so that telling twice changes nothing.
 */
export async function restrictedVersions(
  { database, now }: Pick<PackagesContext, 'database' | 'now'>,
  packageIds: readonly string[],
): Promise<VersionNews[]> {
  const news: VersionNews[] = [];
  for (const { id, parent, draft, published } of (await loadEntities(database, packageIds)).values()) {
    // The resources of a published version are published too.
    if (draft === null || published !== null) continue;
    if (restrictionFor(draft.document, [id], now()).restrictedIds.length === 0) continue;
    const ids = await resourceIdsOf(database, id);
    if (ids.length === 0) continue;
    const restriction = restrictionFor(draft.document, ids, now());
    news.push({ id, parentId: parent.id, revision: draft.revision, ids, ...restriction });
  }
  return news;
}
