import { type AuditEntry, appendAudited, auditEntry } from '@kr/audit-trail';
import { type Principal, servicePrincipal } from '@kr/caller';
import type { ListManagedRecordsRequest__Output, ListManagedRecordsResponse } from '@kr/contracts';
import type { Sql } from '@kr/database';
import {
  assertUnlocked,
  bumpRevisions,
  type Entity,
  type LifecycleContext,
  loadEntities,
  transact,
} from '@kr/draft-lifecycle';
import { endManagement, lastVersionsOf, managedBy } from '../store/management-store.ts';

/** The package that resources are associated with. */
export interface NamedPackage {
  packageParentId: string;
  /** The version in the request, or the last one. */
  packageId: string;
}

/** One entry for each resource, and one for their package: both are written in the same transaction, so in this service. */
export function managementEntries(
  principal: Principal,
  verb: 'associate' | 'dissociate',
  { packageParentId, packageId }: NamedPackage,
  records: readonly { id: string; parentId: string }[],
): AuditEntry[] {
  return [
    ...records.map((record) => {
      const managed = { ...record, managedBy: packageParentId };
      return auditEntry(principal, `record.${verb}`, managed, { package: packageId });
    }),
    auditEntry(
      principal,
      `context.${verb}`,
      { id: packageId, parentId: packageParentId },
      { records: records.map((record) => record.id) },
    ),
  ];
}

/** The first record of each parent: management is shared by all versions. */
export function onePerParent(
  entities: readonly { id: string; parent: { id: string } }[],
): { id: string; parentId: string }[] {
  const byParent = new Map<string, { id: string; parentId: string }>();
  for (const { id, parent } of entities) {
    if (!byParent.has(parent.id)) byParent.set(parent.id, { id, parentId: parent.id });
  }
  return [...byParent.values()];
}

/**
 * RPC ListManagedRecords: the latest published version and the version in preparation of each managed resource. Versions
 * staged by a decided publication count as published.
 */
export function listManagedRecords({ database, publications }: LifecycleContext) {
  return async ({
    packageParentId,
  }: ListManagedRecordsRequest__Output): Promise<ListManagedRecordsResponse> => {
    const managed = await managedBy(database, packageParentId);
    if (managed.pending.length === 0) return managed;
    const { isChanged } = await publications.resolve(managed.pending);
    return isChanged ? managedBy(database, packageParentId) : managed;
  };
}

/** Releases all resources of a deleted package, on the event of its deletion. */
export async function releaseManaged(
  context: LifecycleContext,
  named: NamedPackage,
  eventId: string,
): Promise<void> {
  await transact(context, async (tx) => {
    const rows = await tx.$queryRawUnsafe<{ id: string }[]>(
      'select id from parent where managed_by = $1 order by id for update',
      named.packageParentId,
    );
    const parentIds = rows.map(({ id }) => id);
    if (parentIds.length === 0) return;
    await endManagement(tx, parentIds);
    await bumpRevisions(context, tx, parentIds);
    const released = await lastVersionsOf(tx, parentIds);
    await appendAudited(
      tx,
      [],
      managementEntries(servicePrincipal('records', eventId), 'dissociate', named, released),
    );
  });
}

/**
 * Locks the parents of these records, and then all their versions. Returns the records as they are then.
 */
export async function lockParents(tx: Sql, ids: readonly string[]): Promise<Map<string, Entity>> {
  await tx.$queryRawUnsafe(
    `select id from parent where id in (select parent_id from version where id = any($1::text[]))
     order by id for update`,
    ids,
  );
  await tx.$queryRawUnsafe(
    `select id from version where parent_id in (select parent_id from version where id = any($1::text[]))
     order by id for update`,
    ids,
  );
  return loadEntities(tx, ids);
}

/**
 * Locks the drafts among these records that a package manages and that were never published: their parents, and then all
 * versions of these. Reads no documents, because the drafts may be many and large. Returns their ids.
 */
export async function lockManagedDrafts(
  tx: Sql,
  packageParentId: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const parents = await tx.$queryRawUnsafe<{ id: string }[]>(
    `select id from parent where managed_by = $1 and id in (
       select v.parent_id from version v join draft using (id) where v.id = any($2::text[]) and not v.visible)
     order by id for update`,
    packageParentId,
    ids,
  );
  if (parents.length === 0) return [];
  const versions = await tx.$queryRawUnsafe<{ id: string; is_draft: boolean }[]>(
    `select id, not visible and id = any($2::text[]) as is_draft from version where parent_id = any($1::text[])
     order by id for update`,
    parents.map(({ id }) => id),
    ids,
  );
  return versions.filter(({ is_draft }) => is_draft).map(({ id }) => id);
}

/**
 * Gives drafts that were never published their package's access. Unmanaged and published records stay
 * unchanged.
 *
 * @throws ServiceError `conflict` (`draft_locked`): one of them is being published
 */
export async function applyPackageAccess(
  { kind, now }: Pick<LifecycleContext, 'kind' | 'now'>,
  tx: Sql,
  { packageId, requestId }: { packageId: string; requestId: string },
  { packageParentId, ids, access }: { packageParentId: string; ids: readonly string[]; access: object },
): Promise<void> {
  // Again, because a record may join the package while the caller waits for other locks.
  const drafts = await lockManagedDrafts(tx, packageParentId, ids);
  if (drafts.length === 0) return;
  // Problems of the replaced access are resolved.
  const rows = await tx.$queryRawUnsafe<
    { id: string; parent_id: string; revision: bigint; locked_by: string | null }[]
  >(
    `update draft d
     set document = jsonb_set(d.document, '{access}', $2::jsonb), revision = d.revision + 1, updated_at = $3::timestamptz,
         issues = coalesce((select jsonb_agg(i) from jsonb_array_elements(d.issues) i
                            where split_part(i ->> 'field', '.', 1) <> 'access'), '[]')
     from version v
     where v.id = d.id and d.id = any($1::text[]) and d.document -> 'access' is distinct from $2::jsonb
     returning d.id, v.parent_id, d.revision, d.locked_by`,
    drafts,
    JSON.stringify(access),
    now().toISOString(),
  );
  const saved = rows.map(({ id, parent_id, revision, locked_by }) => {
    assertUnlocked({ lockedBy: locked_by });
    return { id, parentId: parent_id, revision: Number(revision) };
  });
  if (saved.length === 0) return;
  const packages = servicePrincipal('packages', requestId);
  await appendAudited(
    tx,
    saved.map((draft) => kind.events.draftSaved(draft)),
    saved.map((draft) => auditEntry(packages, 'draft.restrict', draft, { package: packageId })),
  );
}
