import type { ReceivedEvent } from '@kr/event-bus';
import type { PackagesContext } from '../context.ts';
import { closeManagedDrafts } from '../package-context/close-managed-drafts.ts';
import { packagesWithPendingRestrictions } from '../store/context-store.ts';

/** A restricted package whose own call to the records service was lost closes its drafts now. */
export function onPackageDraftSaved(context: PackagesContext) {
  return async (events: readonly ReceivedEvent<'knowledge.packages.draft.saved'>[]): Promise<void> => {
    const [event] = events;
    if (event === undefined) return;
    const ids = [...new Set(events.map(({ payload }) => payload.id))];
    await closeManagedDrafts(context, ids, event.id);
  };
}

/** The same for all packages of which a save is pending, when events were lost. */
export async function closeAllManagedDrafts(context: PackagesContext): Promise<void> {
  await closeManagedDrafts(context, await packagesWithPendingRestrictions(context.database), 'lost events');
}
