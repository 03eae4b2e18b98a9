import type { Sql } from '@kr/database';

/** Lets a package manage these parents, which are locked. */
export async function beginManagement(
  tx: Sql,
  parentIds: readonly string[],
  packageParentId: string,
  at: Date,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `update parent set managed_by = $2, managed_at = $3::timestamptz, was_managed = true
     where id = any($1::text[])`,
    parentIds,
    packageParentId,
    at.toISOString(),
  );
}

/** Releases these parents from their package. They must be locked. */
export async function endManagement(tx: Sql, parentIds: readonly string[]): Promise<void> {
  await tx.$executeRawUnsafe(
    'update parent set managed_by = null, managed_at = null where id = any($1::text[])',
    parentIds,
  );
}

/** Ids of the package parents that manage records, after an id, in order. */
export async function managerIds(sql: Sql, afterId: string, limit: number): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ managed_by: string }[]>(
    `select distinct managed_by from parent where managed_by > $1 order by managed_by limit $2::int`,
    afterId,
    limit,
  );
  return rows.map(({ managed_by }) => managed_by);
}

/** The versions that a package manages, oldest first. */
export interface ManagedVersions {
  ids: string[];
  publishedIds: string[];
  /** Publications that have staged some of them. */
  pending: string[];
}

interface ManagedRow {
  id: string;
  visible: boolean;
  publication_id: string | null;
}

/** Of each managed parent its latest published version, and the one that is on its way. */
export async function managedBy(sql: Sql, packageParentId: string): Promise<ManagedVersions> {
  const versions = await sql.$queryRawUnsafe<ManagedRow[]>(
    `select v.id, v.visible, v.publication_id
     from parent p join version v on v.parent_id = p.id
     where p.managed_by = $1
       and (not v.visible
            or v.version_index = (select max(version_index) from version where parent_id = p.id and visible))
     order by p.managed_at, p.id, v.version_index`,
    packageParentId,
  );
  return {
    ids: versions.map(({ id }) => id),
    publishedIds: versions.filter(({ visible }) => visible).map(({ id }) => id),
    pending: [...new Set(versions.flatMap(({ publication_id }) => publication_id ?? []))],
  };
}

/** The versions of these parents, drafts included. */
export function versionsOf(tx: Sql, parentIds: readonly string[]): Promise<{ id: string }[]> {
  return tx.$queryRawUnsafe('select id from version where parent_id = any($1::text[])', parentIds);
}

/** The newest version of each of these parents, drafts included. */
export function lastVersionsOf(
  tx: Sql,
  parentIds: readonly string[],
): Promise<{ id: string; parentId: string }[]> {
  return tx.$queryRawUnsafe(
    `select distinct on (parent_id) id, parent_id as "parentId" from version where parent_id = any($1::text[])
     order by parent_id, version_index desc`,
    parentIds,
  );
}
