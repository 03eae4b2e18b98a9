import { servicePrincipal } from '@kr/caller';
import type { definitions } from '@kr/contracts';
import type { LifecycleDeps } from '@kr/draft-lifecycle';
import type { Client } from '@kr/rpc';

type Files = Pick<Client<typeof definitions.files>, 'describeBuckets'>;

/** Counts of buckets, as the files service has them. */
export function bucketCounts(files: Files): LifecycleDeps['describeBuckets'] {
  return async (entityIds) => {
    const { buckets } = await files.describeBuckets(
      { entityIds: [...entityIds] },
      servicePrincipal('records'),
    );
    return new Map(
      buckets.map(({ entityId, entries, pending, totalBytes, keys }) => [
        entityId,
        { entries, pending, totalBytes: Number(totalBytes), keys },
      ]),
    );
  };
}
