import type { RecordsContext } from '../context.ts';
import { releaseManaged } from '../package-relations/managed-records.ts';
import { applyPackageUpdate, restrictionOf } from '../package-relations/set-package-resources.ts';
import { managerIds } from '../store/management-store.ts';
import { packageIds } from '../store/package-relation-store.ts';
import { markPackagePublished } from './on-package-event.ts';

/** The list of a version that is published or gone does not change any more. */
const LAST_REVISION = Number.MAX_SAFE_INTEGER;
const REQUEST_ID = 'lost events';
const PAGE = 500;

/**
 * Copies the relations of resources to packages from the packages service, after events were lost. Safe to
 * repeat.
 *
 * @throws ServiceError `unavailable`: the packages service cannot be reached
 */
export async function restoreRelations(context: RecordsContext): Promise<void> {
  for await (const versions of context.listVersionResources()) {
    for (const { packageId, revision, isPublished, ids, ...restriction } of versions) {
      await applyPackageUpdate(context, {
        packageId,
        revision: isPublished ? LAST_REVISION : revision,
        recordIds: ids,
        requestId: REQUEST_ID,
        restriction: restrictionOf(restriction),
      });
      if (isPublished) await markPackagePublished(context, packageId);
    }
  }
  const removed = { packages: 0, managers: 0 };
  for await (const packageId of missingOf(context, packageIds)) {
    await applyPackageUpdate(context, {
      packageId,
      revision: LAST_REVISION,
      recordIds: [],
      requestId: REQUEST_ID,
    });
    removed.packages += 1;
  }
  for await (const packageParentId of missingOf(context, managerIds)) {
    // The last version is unknown.
    await releaseManaged(context, { packageParentId, packageId: packageParentId }, REQUEST_ID);
    removed.managers += 1;
  }
  context.logger.info(removed, 'relations of records compared with packages');
}

/** The listed ids that the packages service does not have. */
async function* missingOf(
  { database, findOtherKind }: RecordsContext,
  list: typeof packageIds,
): AsyncGenerator<string> {
  for (let afterId = ''; ; ) {
    const ids = await list(database, afterId, PAGE);
    const last = ids.at(-1);
    if (last === undefined) return;
    const existing = await findOtherKind(ids);
    yield* ids.filter((id) => !existing.has(id));
    afterId = last;
  }
}
