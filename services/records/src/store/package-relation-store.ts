import type { Sql } from '@kr/database';

/**
 * The package versions that contain the record `v.id`, in the order it was added to them: all for its draft, the published
 * ones for its published form, which must not reveal drafts of packages. As `EntityKind.related`.
 */
export const RELATED = `
  select array_agg(r.package_id order by r.added_at, r.package_id) as of_draft,
         array_agg(r.package_id order by r.added_at, r.package_id) filter (where p.is_published) as of_published
  from packaged_record r join package_version p on p.package_id = r.package_id
  where r.record_id = v.id`;

/**
 * Stores the records of a package version unless a newer list is stored.
 *
 * @returns the records added or removed; undefined if the list is outdated
 */
export async function replacePackageRecords(
  tx: Sql,
  {
    packageId,
    revision,
    recordIds,
  }: { packageId: string; revision: string | number; recordIds: readonly string[] },
  at: Date,
): Promise<{ added: string[]; removed: string[] } | undefined> {
  const isNewer = await tx.$executeRawUnsafe(
    `insert into package_version (package_id, revision) values ($1, $2::bigint)
     on conflict (package_id) do update set revision = excluded.revision
     where package_version.revision < excluded.revision`,
    packageId,
    Number(revision),
  );
  if (isNewer === 0) return undefined;
  const rows = await tx.$queryRawUnsafe<{ record_id: string; is_added: boolean }[]>(
    `with removed as (
       delete from packaged_record where package_id = $1 and record_id <> all($2::text[]) returning record_id
     ), added as (
       insert into packaged_record (package_id, record_id, added_at)
       select $1, id, $3::timestamptz from unnest($2::text[]) as id
       on conflict do nothing returning record_id
     )
     select record_id, false as is_added from removed union all select record_id, true from added`,
    packageId,
    recordIds,
    at.toISOString(),
  );
  const ids = (isAdded: boolean) =>
    rows.flatMap(({ record_id, is_added }) => (is_added === isAdded ? record_id : []));
  return { added: ids(true), removed: ids(false) };
}

/**
 * The records that an update of a package version may restrict: records missing in the stored list, or all if the
 * restriction is newer than the stored one.
 */
export async function recordsToRestrict(
  tx: Sql,
  { packageId, recordIds }: { packageId: string; recordIds: readonly string[] },
  restrictionRevision: number,
): Promise<string[]> {
  const rows = await tx.$queryRawUnsafe<{ id: string }[]>(
    `select id from unnest($2::text[]) as id
     where not exists (select from package_version where package_id = $1 and restriction_revision >= $3::bigint)
        or not exists (select from packaged_record where package_id = $1 and record_id = id)`,
    packageId,
    recordIds,
    restrictionRevision,
  );
  return rows.map(({ id }) => id);
}

/** Stores the restriction of a known package version. False when that one or a later one is stored. */
export async function storeRestriction(tx: Sql, packageId: string, revision: number): Promise<boolean> {
  const stored = await tx.$executeRawUnsafe(
    `update package_version set restriction_revision = $2::bigint
     where package_id = $1 and restriction_revision < $2::bigint`,
    packageId,
    revision,
  );
  return stored === 1;
}

/**
 * Marks a package version as published.
 *
 * @returns its records except `together`, whose relations change; empty if it was marked before
 */
export async function markPublishedWith(
  tx: Sql,
  packageId: string,
  together: readonly string[],
): Promise<string[]> {
  const rows = await tx.$queryRawUnsafe<{ record_id: string }[]>(
    `with marked as (
       insert into package_version (package_id, is_published) values ($1, true)
       on conflict (package_id) do update set is_published = true where not package_version.is_published
       returning package_id
     )
     select record_id from packaged_record join marked using (package_id) where record_id <> all($2::text[])`,
    packageId,
    together,
  );
  return rows.map((row) => row.record_id);
}

/** The published ones among these package versions. */
export async function publishedAmong(sql: Sql, packageIds: readonly string[]): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ package_id: string }[]>(
    'select package_id from package_version where package_id = any($1::text[]) and is_published',
    packageIds,
  );
  return rows.map((row) => row.package_id);
}

/** Ids of package versions with records, after an id, in order. */
export async function packageIds(sql: Sql, afterId: string, limit: number): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ package_id: string }[]>(
    `select distinct package_id from packaged_record where package_id > $1 order by package_id limit $2::int`,
    afterId,
    limit,
  );
  return rows.map(({ package_id }) => package_id);
}

/** Removes a deleted record from every package version; returns the versions that contained it. */
export async function removeRecord(tx: Sql, recordId: string): Promise<string[]> {
  const rows = await tx.$queryRawUnsafe<{ package_id: string }[]>(
    'delete from packaged_record where record_id = $1 returning package_id',
    recordId,
  );
  return rows.map((row) => row.package_id);
}
