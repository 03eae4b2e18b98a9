import type { DecideBucketsRequest__Output, DecideBucketsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { type DecidePublicationDeps, decidePublication } from './decide-publication.ts';
import { requireService } from './require-service.ts';

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
