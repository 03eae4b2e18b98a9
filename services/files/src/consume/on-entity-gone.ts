import type { ReceivedEvent } from '@kr/event-bus';
import { purgeBucket, type RemoveBucketDeps, removeBucket } from '../maintenance/remove-bucket.ts';

export const GONE = [
  'knowledge.records.draft.deleted',
  'knowledge.packages.draft.deleted',
  'knowledge.records.record.purged',
  'knowledge.packages.package.purged',
] as const;

/** Files end with a draft that was never published, and with the retention of an entity that was removed. */
export function onEntityGone(deps: RemoveBucketDeps) {
  return async (events: readonly ReceivedEvent<(typeof GONE)[number]>[]): Promise<void> => {
    for (const { payload } of events) {
      if (!('isPublished' in payload)) await purgeBucket(deps, payload.id);
      else if (!payload.isPublished) await removeBucket(deps, payload.id);
    }
  };
}
