import type { ReceivedEvent } from '@kr/event-bus';
import type { PackagesContext } from '../context.ts';
import { leaveDrafts } from '../resources/forget-records.ts';

/**
 * A resource that was never published is gone: it leaves the package versions that hold it, if the records service's
 * own call did not arrive. One whose edit draft was discarded stays. While a package is being published the event
 * waits, and comes back later.
 */
export function onRecordDraftDeleted(context: PackagesContext) {
  return async (events: readonly ReceivedEvent<'knowledge.records.draft.deleted'>[]): Promise<void> => {
    await leaveDrafts(
      context,
      events.filter(({ payload }) => !payload.isPublished).map(({ payload }) => payload.id),
    );
  };
}
