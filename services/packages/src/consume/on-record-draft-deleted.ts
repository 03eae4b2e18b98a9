import { servicePrincipal } from '@kr/caller';
import type { ReceivedEvent } from '@kr/event-bus';
import type { PackagesContext } from '../context.ts';
import { removeFromDrafts } from '../resources/remove-deleted-records.ts';
import { draftResourceIds } from '../store/resource-store.ts';

/**
 * Removes a deleted, never published resource from the package versions that contain it, if the records service's
 * call did not arrive. One whose edit draft was discarded stays. While a package is being published, the event is
 * retried later.
 */
export function onRecordDraftDeleted(context: PackagesContext) {
  return async (events: readonly ReceivedEvent<'knowledge.records.draft.deleted'>[]): Promise<void> => {
    for (const { id, payload } of events) {
      if (!payload.isPublished)
        await removeFromDrafts(context, [payload.id], servicePrincipal('packages', id));
    }
  };
}

const PAGE = 500;

/** The same for all resources of package drafts, when events were lost. */
export async function removeLostRecords(context: PackagesContext): Promise<void> {
  const self = servicePrincipal('packages');
  for (let afterId = ''; ; ) {
    const ids = await draftResourceIds(context.database, afterId, PAGE);
    const last = ids.at(-1);
    if (last === undefined) return;
    const existing = new Set((await context.recordsLifecycle.findIds({ ids }, self)).ids);
    await removeFromDrafts(
      context,
      ids.filter((id) => !existing.has(id)),
      self,
    );
    afterId = last;
  }
}
