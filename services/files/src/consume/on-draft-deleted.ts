import type { ReceivedEvent } from '@kr/event-bus';
import { type RemoveBucketDeps, removeBucket } from '../buckets/remove-bucket.ts';

export const DRAFT_DELETED = ['knowledge.records.draft.deleted', 'knowledge.packages.draft.deleted'] as const;

/** An entity that was never published is gone with its draft, and its files with it. */
export function onDraftDeleted(deps: RemoveBucketDeps) {
  return async (events: readonly ReceivedEvent<(typeof DRAFT_DELETED)[number]>[]): Promise<void> => {
    for (const { payload } of events) {
      if (!payload.isPublished) await removeBucket(deps, payload.id);
    }
  };
}
