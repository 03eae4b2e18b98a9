import { touchParents, transact } from '@kr/draft-lifecycle';
import type { RecordsContext } from '../context.ts';
import { endManagement } from '../store/management-store.ts';

/** Lets all resources of a package that is gone stand by themselves. */
export async function releaseManaged(
  { lifecycle }: Pick<RecordsContext, 'lifecycle'>,
  packageParentId: string,
): Promise<void> {
  await transact(lifecycle, async (tx) => {
    const rows = await tx.$queryRawUnsafe<{ id: string }[]>(
      'select id from parent where managed_by = $1 order by id for update',
      packageParentId,
    );
    const parentIds = rows.map(({ id }) => id);
    if (parentIds.length === 0) return;
    await endManagement(tx, parentIds);
    await touchParents(lifecycle, tx, parentIds);
  });
}
