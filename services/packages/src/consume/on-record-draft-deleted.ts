import { servicePrincipal } from '@kr/caller';
import type { ReceivedEvent } from '@kr/event-bus';
import type { PackagesContext } from '../context.ts';
import { removeFromDrafts } from '../resources/forget-records.ts';
import { heldIds } from '../store/resource-store.ts';

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
export async function dropLostRecords(context: PackagesContext): Promise<void> {
  const self = servicePrincipal('packages');
  for (let afterId = ''; ; ) {
    const held = await heldIds(context.database, afterId, PAGE);
    const last = held.at(-1);
    if (last === undefined) return;
    const known = new Set((await context.recordsLifecycle.findIds({ ids: held }, self)).ids);
    await removeFromDrafts(
      context,
      held.filter((id) => !known.has(id)),
      self,
    );
    afterId = last;
  }
}
