import type { ListManagedRecordsRequest__Output, ListManagedRecordsResponse } from '@kr/contracts';
import type { RecordsContext } from '../context.ts';

/**
 * RPC ListManagedRecords: of each managed resource its latest published version and the version that is on its way.
 */
export function listManagedRecords({ database }: Pick<RecordsContext, 'database'>) {
  return async ({
    packageParentId,
  }: ListManagedRecordsRequest__Output): Promise<ListManagedRecordsResponse> => {
    const rows = await database.$queryRaw<{ id: string }[]>`
      select v.id from parent p join version v on v.parent_id = p.id
      where p.managed_by = ${packageParentId}
        and (not v.visible
             or v.version_index = (select max(version_index) from version where parent_id = p.id and visible))
      order by p.managed_at, p.id, v.version_index`;
    return { ids: rows.map(({ id }) => id) };
  };
}
