import { touchParents, transact } from '@kr/draft-lifecycle';
import type { RecordsContext } from '../context.ts';

/** Lets all resources of a package that is gone stand by themselves. */
export async function releaseManaged(
  { lifecycle }: Pick<RecordsContext, 'lifecycle'>,
  packageParentId: string,
): Promise<void> {
  await transact(lifecycle, async (tx) => {
    const rows = await tx.$queryRaw<{ id: string }[]>`
      select id from parent where managed_by = ${packageParentId} order by id for update`;
    const parentIds = rows.map(({ id }) => id);
    if (parentIds.length === 0) return;
    await tx.parent.updateMany({
      where: { id: { in: parentIds } },
      data: { managedBy: null, managedAt: null },
    });
    await touchParents(lifecycle, tx, parentIds);
  });
}
