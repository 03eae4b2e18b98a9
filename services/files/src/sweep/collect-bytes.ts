import type { CollectBytesRequest__Output, CollectBytesResponse, CollectedBytes } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { requireOperator } from '../require-operator.ts';
import { type SweepDeps, sweepObjects } from './sweep-objects.ts';
import { sweepOrphans } from './sweep-orphans.ts';
import { sweepUploads } from './sweep-uploads.ts';
import type { Swept } from './swept.ts';

/** RPC CollectBytes. Safe to repeat. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function collectBytes(deps: SweepDeps) {
  return async (
    { isApplied }: CollectBytesRequest__Output,
    { principal }: CallContext,
  ): Promise<CollectBytesResponse> => {
    requireOperator(principal);
    const options = { isTrial: !isApplied };
    const expired = await sweepUploads(deps, options);
    const unreferenced = await sweepObjects(deps, options);
    const orphans = await sweepOrphans(deps, options);
    return {
      expiredUploads: message(expired),
      unreferencedObjects: message(unreferenced),
      orphans: message(orphans),
      graceMs: String(deps.graceMs),
    };
  };
}

function message({ count, bytes }: Swept): CollectedBytes {
  return { count: String(count), bytes: String(bytes) };
}
