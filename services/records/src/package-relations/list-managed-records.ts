import type { ListManagedRecordsRequest__Output, ListManagedRecordsResponse } from '@kr/contracts';
import type { RecordsContext } from '../context.ts';
import { managedBy } from '../store/management-store.ts';

/**
 * RPC ListManagedRecords: the latest published version and the version in preparation of each managed resource. Versions
 * staged by a decided publication count as published.
 */
export function listManagedRecords({ lifecycle }: Pick<RecordsContext, 'lifecycle'>) {
  const { database, publications } = lifecycle;
  return async ({
    packageParentId,
  }: ListManagedRecordsRequest__Output): Promise<ListManagedRecordsResponse> => {
    const managed = await managedBy(database, packageParentId);
    if (managed.pending.length === 0) return managed;
    const { isChanged } = await publications.settle(managed.pending);
    return isChanged ? managedBy(database, packageParentId) : managed;
  };
}
