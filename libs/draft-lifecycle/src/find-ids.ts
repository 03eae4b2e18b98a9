import type { FindIdsRequest__Output, FindIdsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { LifecycleContext } from './lifecycle-context.ts';
import { assertService } from './permission.ts';

/**
 * RPC FindIds: the ids that belong to this service. @throws ServiceError `forbidden`: the caller is no
 * service
 */
export function findIds({ database }: LifecycleContext) {
  return async ({ ids }: FindIdsRequest__Output, { principal }: CallContext): Promise<FindIdsResponse> => {
    assertService(principal);
    const rows = await database.$queryRawUnsafe<{ id: string; is_purged: boolean }[]>(
      `select id, purged_at is not null as is_purged from version where id = any($1::text[])
       union select id, false from parent where id = any($1::text[])`,
      ids,
    );
    return {
      ids: rows.map(({ id }) => id),
      purgedIds: rows.flatMap(({ id, is_purged }) => (is_purged ? id : [])),
    };
  };
}
