import type { DescribeBucketsRequest__Output, DescribeBucketsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { requireService } from './require-service.ts';
import type { SealStore } from './seal-store.ts';

/** RPC DescribeBuckets. @throws ServiceError `forbidden`: not called by one of our services */
export function describeBuckets<T>(seals: Pick<SealStore<T>, 'outside' | 'describeEntities'>) {
  return async (
    { entityIds }: DescribeBucketsRequest__Output,
    { principal }: CallContext,
  ): Promise<DescribeBucketsResponse> => {
    requireService(principal);
    return { buckets: await seals.describeEntities(seals.outside, entityIds) };
  };
}
