import type { DescribeRecordsRequest__Output, DescribeRecordsResponse } from '@kr/contracts';
import { findEntities } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { RecordsContext } from '../context.ts';
import { isReadable } from './is-readable.ts';

/**
 * RPC DescribeRecords. @throws ServiceError `unavailable` when one is staged and the coordinator cannot be
 * reached
 */
export function describeRecords({ lifecycle }: Pick<RecordsContext, 'lifecycle'>) {
  return async (
    { ids }: DescribeRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<DescribeRecordsResponse> => {
    const entities = await findEntities(lifecycle, ids);
    const now = lifecycle.now();
    const records = [...entities.values()].map((entity) => ({
      id: entity.id,
      parentId: entity.parent.id,
      hasDraft: entity.draft !== null,
      isPublished: entity.published !== null,
      managedBy: entity.parent.managedBy ?? '',
      isReadable: isReadable(principal, entity, now),
    }));
    return { records };
  };
}
