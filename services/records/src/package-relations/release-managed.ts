import { appendAudited } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import { touchParents, transact } from '@kr/draft-lifecycle';
import type { RecordsContext } from '../context.ts';
import { endManagement, lastVersionsOf } from '../store/management-store.ts';
import { managementEntries, type NamedPackage } from './management-entries.ts';

/** Releases all resources of a deleted package, on the event of its deletion. */
export async function releaseManaged(
  { lifecycle }: Pick<RecordsContext, 'lifecycle'>,
  named: NamedPackage,
  eventId: string,
): Promise<void> {
  await transact(lifecycle, async (tx) => {
    const rows = await tx.$queryRawUnsafe<{ id: string }[]>(
      'select id from parent where managed_by = $1 order by id for update',
      named.packageParentId,
    );
    const parentIds = rows.map(({ id }) => id);
    if (parentIds.length === 0) return;
    await endManagement(tx, parentIds);
    await touchParents(lifecycle, tx, parentIds);
    const released = await lastVersionsOf(tx, parentIds);
    await appendAudited(
      tx,
      [],
      managementEntries(servicePrincipal('records', eventId), 'dissociate', named, released),
    );
  });
}
