import { appendAudited } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import { touchParents, transact } from '@kr/draft-lifecycle';
import type { RecordsContext } from '../context.ts';
import { endManagement, lastVersionsOf } from '../store/management-store.ts';
import { managementEntries } from './management-entries.ts';

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
    const named = { packageParentId, packageId: '' };
    const released = await lastVersionsOf(tx, parentIds);
    await appendAudited(
      tx,
      [],
      managementEntries(servicePrincipal('records'), 'dissociate', named, released),
    );
  });
}
