import type { ListIdsRequest__Output, ListIdsResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { LifecycleContext } from './lifecycle-context.ts';
import { assertService } from './permission.ts';

const MAX_IDS = 1_000;

/** RPC ListIds: in id order, after a position. @throws ServiceError `forbidden`: the caller is no service */
export function listIds({ database }: LifecycleContext) {
  return async (
    { afterId, limit }: ListIdsRequest__Output,
    { principal }: CallContext,
  ): Promise<ListIdsResponse> => {
    assertService(principal);
    const rows = await database.$queryRawUnsafe<{ id: string }[]>(
      'select id from version where id > $1 order by id limit $2::int',
      afterId,
      Math.min(limit > 0 ? limit : MAX_IDS, MAX_IDS),
    );
    return { ids: rows.map(({ id }) => id) };
  };
}
