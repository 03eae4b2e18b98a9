import type { DescribeBucketsRequest__Output, DescribeBucketsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { describeEntities } from '../store/describe-entities.ts';
import type { Database } from '../store/prisma.ts';
import { requireService } from './require-service.ts';

/** RPC DescribeBuckets. @throws ServiceError `forbidden`: not called by one of our services */
export function describeBuckets({ database }: { database: Database }) {
  return async (
    { entityIds }: DescribeBucketsRequest__Output,
    { principal }: CallContext,
  ): Promise<DescribeBucketsResponse> => {
    requireService(principal);
    return { buckets: await describeEntities(database, entityIds) };
  };
}
