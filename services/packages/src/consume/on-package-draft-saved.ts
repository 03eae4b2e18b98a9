import type { ReceivedEvent } from '@kr/event-bus';
import type { PackagesContext } from '../context.ts';
import { closeManagedDrafts } from '../package-context/close-managed-drafts.ts';

/** A restricted package whose own call to the records service was lost closes its drafts now. */
export function onPackageDraftSaved(context: PackagesContext) {
  return async (events: readonly ReceivedEvent<'knowledge.packages.draft.saved'>[]): Promise<void> => {
    const [event] = events;
    if (event === undefined) return;
    const ids = [...new Set(events.map(({ payload }) => payload.id))];
    await closeManagedDrafts(context, ids, event.id);
  };
}
