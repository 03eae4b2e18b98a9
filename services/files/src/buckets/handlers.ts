import type {
  DecideBucketsRequest__Output,
  DecideBucketsResponse,
  DescribeBucketsRequest__Output,
  DescribeBucketsResponse,
  SealBucketsRequest__Output,
  SealBucketsResponse,
} from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { requireService } from '../access.ts';
import {
  type DecidePublicationDeps,
  decidePublication,
  type SealPublicationDeps,
  type SettlePublications,
  sealPublication,
} from './publications.ts';
import type { SealStore } from './seal-store.ts';

/**
 * RPC SealBuckets. Another seal is settled with the coordinator once before it is a reason to refuse.
 * @throws ServiceError - `forbidden`: the caller is not the coordinator of publications - `unavailable`: there is another seal and the
 * coordinator cannot be reached
 */
export function sealBuckets<T>(deps: SealPublicationDeps<T> & { settle: SettlePublications }) {
  return async (
    { publicationId, epoch, entityIds }: SealBucketsRequest__Output,
    { principal }: CallContext,
  ): Promise<SealBucketsResponse> => {
    requireService(principal, 'packages');
    const seal = { publicationId, epoch, entityIds };
    let outcome = await sealPublication(deps, seal);
    if (!outcome.isSealed && outcome.blockedBy.length > 0) {
      await deps.settle(outcome.blockedBy);
      outcome = await sealPublication(deps, seal);
    }
    if (outcome.isSealed) return { isSealed: true, buckets: outcome.buckets };
    return { isSealed: false, blockedBy: outcome.blockedBy[0] ?? '' };
  };
}

/**
 * RPC DecideBuckets.
 *
 * @throws ServiceError
 *   - `forbidden`: not called by the coordinator of publications
 *   - `internal`: the opposite was decided before
 */
export function decideBuckets<T>(deps: DecidePublicationDeps<T>) {
  return async (
    { publicationId, isCommitted, publishedIds }: DecideBucketsRequest__Output,
    { principal }: CallContext,
  ): Promise<DecideBucketsResponse> => {
    requireService(principal, 'packages');
    await decidePublication(deps, { publicationId, isCommitted, publishedIds });
    return {};
  };
}

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
