import type { FindDoisRequest__Output, FindDoisResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { findDoiOwners } from './doi-store.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import { assertService } from './permission.ts';

/** RPC FindDois: the DOIs of published entities of this kind. @throws ServiceError `forbidden`: the caller is no service */
export function findDois({ database }: LifecycleContext) {
  return async ({ dois }: FindDoisRequest__Output, { principal }: CallContext): Promise<FindDoisResponse> => {
    assertService(principal);
    const owners = await findDoiOwners(database, dois);
    return { dois: [...new Set(owners.map(({ doi }) => doi))] };
  };
}
