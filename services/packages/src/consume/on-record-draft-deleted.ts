import type { ReceivedEvent } from '@kr/event-bus';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { changeUnlockedResources } from '../resources/change-unlocked-resources.ts';
import { draftsHolding } from '../store/resource-store.ts';

/**
 * A resource that was never published is gone: it leaves the package versions that hold it. One whose edit draft was
 * discarded stays. Repeats find nothing to do; while a package is being published the event waits, and comes back
 * later.
 */
export function onRecordDraftDeleted(context: PackagesContext) {
  return async (events: readonly ReceivedEvent<'knowledge.records.draft.deleted'>[]): Promise<void> => {
    const gone = events.filter(({ payload }) => !payload.isPublished).map(({ payload }) => payload.id);
    if (gone.length === 0) return;
    for (const { packageId } of await draftsHolding(context.database, gone)) {
      await unlessGone(() =>
        changeUnlockedResources(context, {
          packageId,
          principal: context.self,
          run: ({ resourceIds }) => ({
            ids: resourceIds.filter((id) => !gone.includes(id)),
            result: undefined,
          }),
        }),
      );
    }
  };
}

/** A package draft that was deleted meanwhile holds nothing any more. */
async function unlessGone(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'not_found') throw error;
  }
}
