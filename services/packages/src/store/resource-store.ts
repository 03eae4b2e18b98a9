import type { Sql } from '@kr/database';
import type { Removal, StoredDocument } from '@kr/draft-lifecycle';

/** The resources of one package version, in the order they were added. */
export async function resourceIdsOf(sql: Sql, packageId: string): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ resource_id: string }[]>(
    'select resource_id from package_resource where package_id = $1 order by position',
    packageId,
  );
  return rows.map((row) => row.resource_id);
}

/** As `resourceIdsOf`, of several versions. */
export async function resourceIdsOfEach(
  sql: Sql,
  packageIds: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await sql.$queryRawUnsafe<{ package_id: string; ids: string[] }[]>(
    `select package_id, array_agg(resource_id order by position) as ids
     from package_resource where package_id = any($1::text[]) group by package_id`,
    packageIds,
  );
  return new Map(rows.map(({ package_id, ids }) => [package_id, ids]));
}

interface ResourcesRow {
  resource_id: string | null;
  parent_id: string | null;
  owner_id: string;
  managed_by: string | null;
  access: StoredDocument['access'] | null;
  is_published: boolean;
  removal: Removal | null;
}

/** The facts about a version that the policy needs. */
export interface VersionAccess {
  parent: { id: string; ownerId: string; managedBy: string | null };
  document: Pick<StoredDocument, 'access'>;
  isPublished: boolean;
  /** Set while the published form is removed. */
  removal: Removal | null;
}

/** As `resourceIdsOf`, and in the same statement the facts about access to the version. */
export async function resourcesAndAccess(
  sql: Sql,
  packageId: string,
): Promise<{ ids: string[]; version: VersionAccess | null }> {
  const rows = await sql.$queryRawUnsafe<ResourcesRow[]>(
    `select r.resource_id, v.parent_id, p.owner_id, p.managed_by, v.removal,
       v.visible as is_published, coalesce(v.document, d.document) -> 'access' as access
     from version v
     left join draft d on d.id = v.id
     left join parent p on p.id = v.parent_id
     left join package_resource r on r.package_id = v.id
     where v.id = $1 order by r.position`,
    packageId,
  );
  const [first] = rows;
  return {
    ids: rows.flatMap(({ resource_id }) => resource_id ?? []),
    version:
      first === undefined || first.parent_id === null || first.access === null
        ? null
        : {
            parent: { id: first.parent_id, ownerId: first.owner_id, managedBy: first.managed_by },
            document: { access: first.access },
            isPublished: first.is_published,
            removal: first.removal,
          },
  };
}

/** The user who owns all versions of the package; undefined if there is no such package. */
export async function ownerOf(sql: Sql, parentId: string): Promise<string | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ owner_id: string }[]>(
    'select owner_id from parent where id = $1',
    parentId,
  );
  return row?.owner_id;
}

/** The version of a parent that was never published; there is at most one. */
export async function openVersionId(sql: Sql, parentId: string): Promise<string | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ id: string }[]>(
    'select id from version where parent_id = $1 and not visible',
    parentId,
  );
  return row?.id;
}

/** Writes the differences between two lists of a version whose draft is locked by the transaction. */
export async function replaceResourceIds(
  tx: Sql,
  packageId: string,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const [former, next] = [new Set(before), new Set(after)];
  const removed = before.filter((id) => !next.has(id));
  const added = after.filter((id) => !former.has(id));
  if (removed.length > 0) {
    await tx.$executeRawUnsafe(
      'delete from package_resource where package_id = $1 and resource_id = any($2::text[])',
      packageId,
      removed,
    );
  }
  if (added.length === 0) return;
  await tx.$executeRawUnsafe(
    `insert into package_resource (package_id, resource_id, position)
     select $1, id, place + (select coalesce(max(position), 0) from package_resource where package_id = $1)
     from unnest($2::text[]) with ordinality as added (id, place)`,
    packageId,
    added,
  );
}

/** The unpublished versions that contain one of these resources. */
export async function draftsWith(sql: Sql, resourceIds: readonly string[]): Promise<{ packageId: string }[]> {
  return sql.$queryRawUnsafe(
    `select id as "packageId" from version
     where id in (select package_id from package_resource where resource_id = any($1::text[])) and not visible`,
    resourceIds,
  );
}

/** Ids of the resources in versions that are not published, after an id, in order. */
export async function draftResourceIds(sql: Sql, afterId: string, limit: number): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ resource_id: string }[]>(
    `select distinct r.resource_id from package_resource r join version v on v.id = r.package_id
     where r.resource_id > $1 and not v.visible order by r.resource_id limit $2::int`,
    afterId,
    limit,
  );
  return rows.map(({ resource_id }) => resource_id);
}
