import type { PublishedEntity } from './entity-kind.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import type { StoredDocument } from './stored-document.ts';

/** A form that a publication will show when it is committed. */
export interface StagedForm {
  id: string;
  document: StoredDocument;
  /** At least this much; more if the entity changed meanwhile. */
  revision: number;
}

export async function stageForms(
  tx: LifecycleSql,
  publicationId: string,
  forms: readonly StagedForm[],
  at: Date,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `with form as (
       select id, document, revision from jsonb_to_recordset($2::jsonb) as f(id text, document jsonb, revision bigint)
     ), held as (
       update draft d set locked_by = $1 from form where d.id = form.id
     )
     update version v
     set publication_id = $1, staged = form.document, staged_revision = form.revision, staged_at = $3::timestamptz
     from form where v.id = form.id`,
    publicationId,
    JSON.stringify(forms),
    at.toISOString(),
  );
}

export async function lockDrafts(
  tx: LifecycleSql,
  publicationId: string,
  ids: readonly string[],
): Promise<void> {
  await tx.$executeRawUnsafe(
    'update draft set locked_by = $1 where id = any($2::text[])',
    publicationId,
    ids,
  );
}

export async function showStaged(tx: LifecycleSql, publicationId: string): Promise<PublishedEntity[]> {
  await lockStaged(tx, publicationId);
  const rows = await tx.$queryRawUnsafe<{ id: string; parent_id: string; revision: bigint }[]>(
    `with shown as (
       update version v
       set document = staged, visible = true,
           revision = greatest(v.revision + 1, staged_revision, (select d.revision + 1 from draft d where d.id = v.id)),
           created_at = coalesce(created_at, staged_at), updated_at = staged_at,
           publication_id = null, staged = null, staged_revision = null, staged_at = null
       where publication_id = $1
       returning id, parent_id, revision
     ), dropped as (
       delete from draft where locked_by = $1
     )
     select id, parent_id, revision from shown order by id`,
    publicationId,
  );
  return rows.map((row) => ({ id: row.id, parentId: row.parent_id, revision: Number(row.revision) }));
}

/** An update alone would hold the rows in the order in which they lie, and everybody else holds them by id. */
async function lockStaged(tx: LifecycleSql, publicationId: string): Promise<void> {
  await tx.$queryRawUnsafe(
    'select id from version where publication_id = $1 order by id for update',
    publicationId,
  );
}

export async function dropStaged(tx: LifecycleSql, publicationId: string): Promise<void> {
  await lockStaged(tx, publicationId);
  await tx.$executeRawUnsafe(
    `update version set publication_id = null, staged = null, staged_revision = null, staged_at = null
     where publication_id = $1`,
    publicationId,
  );
  await unlockDrafts(tx, publicationId);
}

export async function unlockDrafts(tx: LifecycleSql, publicationId: string): Promise<void> {
  await tx.$executeRawUnsafe('update draft set locked_by = null where locked_by = $1', publicationId);
}
