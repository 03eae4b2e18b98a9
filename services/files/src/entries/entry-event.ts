import { newEvent, type OutboxEvent } from '@kr/event-bus';
import type { LockedBucket } from '../buckets/seal-store.ts';

/** The event of one entry's change; its revision is the bucket's. */
export function entryEvent(
  verb: 'started' | 'completed' | 'deleted',
  { entityId, revision }: LockedBucket,
  key: string,
): OutboxEvent {
  return newEvent(
    `knowledge.files.entry.${verb}`,
    { entityId, key, revision },
    { aggregateId: entityId, revision },
  );
}
