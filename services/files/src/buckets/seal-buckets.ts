import type { SealBucketsRequest__Output, SealBucketsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { requireService } from './require-service.ts';
import { type SealPublicationDeps, sealPublication } from './seal-publication.ts';
import type { SettlePublications } from './settle-publications.ts';

/**
 * RPC SealBuckets. A seal that is in the way is settled with the coordinator once before it is a reason to refuse.
 *
 * @throws ServiceError
 *   - `forbidden`: not called by the coordinator of publications
 *   - `unavailable`: another seal is in the way and the coordinator cannot be asked
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
