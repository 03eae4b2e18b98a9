import { newEvent, type OutboxEvent } from '@kr/event-bus';
import type { OpenTicket } from '../access.ts';
import type { ChangeBucketDeps } from '../buckets/change-bucket.ts';
import type { LockedBucket } from '../buckets/seal-store.ts';

export interface ChangeEntriesDeps extends ChangeBucketDeps {
  openTicket: OpenTicket;
}

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
