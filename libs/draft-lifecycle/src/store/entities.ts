import type { Sql } from '@kr/database';
import type { Issue } from '@kr/service-error';
import { draftLocked } from '../model/access.ts';
import type { Entity, Removal, StoredDocument } from '../model/entity.ts';
import type { DocumentBudget } from './document-budget.ts';

/** A draft beside its version, as `DRAFT_COLUMNS` has it; all null where there is none. */
export interface DraftRow {
  d_document: StoredDocument | null;
  d_issues: Issue[] | null;
  d_revision: bigint | null;
  d_locked_by: string | null;
  d_restriction_revision: bigint | null;
  d_created_at: Date | null;
  d_updated_at: Date | null;
}

/** The small columns of a table `draft` that was joined as `d`. */
const DRAFT_STATE = `
         d.revision as d_revision, d.locked_by as d_locked_by,
         d.restriction_revision as d_restriction_revision,
         d.created_at as d_created_at, d.updated_at as d_updated_at`;

/** Of a table `draft` that was joined as `d`. */
export const DRAFT_COLUMNS = `d.document as d_document, d.issues as d_issues, ${DRAFT_STATE}`;

export function draftOf(row: DraftRow): Entity['draft'] {
  const {
    d_document: document,
    d_revision: revision,
    d_created_at: createdAt,
    d_updated_at: updatedAt,
  } = row;
  if (document === null || revision === null || createdAt === null || updatedAt === null) return null;
  return {
    document,
    issues: row.d_issues ?? [],
    revision: Number(revision),
    lockedBy: row.d_locked_by,
    restrictionRevision: Number(row.d_restriction_revision),
    createdAt,
    updatedAt,
  };
}

interface EntityRow extends DraftRow {
  id: string;
  parent_id: string;
  version_index: number;
  document: StoredDocument | null;
  revision: bigint;
  draft_revision: bigint;
  created_at: Date | null;
  updated_at: Date | null;
  owner_id: string;
  managed_by: string | null;
  was_managed: boolean;
  link_ids: string[];
  pending: string[] | null;
  latest_index: number;
  last_index: number;
  removal: Removal | null;
  bytes?: bigint | number | string;
  of_draft?: string[] | null;
  of_published?: string[] | null;
}

// The versions of a parent are few and indexed, so values derived from them need no second query.
const select = (related?: string, documents = `v.document, ${DRAFT_COLUMNS}`) => `
  select v.id, v.parent_id, v.version_index, v.revision, v.draft_revision, v.created_at, v.updated_at, v.removal,
         p.owner_id, p.managed_by, p.was_managed, p.link_ids,
         s.pending, s.latest_index, s.last_index,
         ${documents}
         ${related === undefined ? '' : ', r.of_draft, r.of_published'}
  from version v
  join parent p on p.id = v.parent_id
  left join draft d on d.id = v.id
  cross join lateral (
    select coalesce(max(version_index) filter (where visible and removed_at is null), 0) as latest_index,
           max(version_index) as last_index,
           array_agg(distinct publication_id) filter (where publication_id is not null) as pending
    from version where parent_id = v.parent_id
  ) s
  ${related === undefined ? '' : `cross join lateral (${related}) r`}`;

/** All documents of a page, or none if they are larger than $2 bytes together. */
const BYTES = 'sum(coalesce(v.document_bytes, 0) + coalesce(d.document_bytes, 0)) over ()';
const selectWithin = (related?: string) => `
  select page.*, case when page.bytes <= $2::bigint then v.document end as document,
         case when page.bytes <= $2::bigint then d.document end as d_document,
         case when page.bytes <= $2::bigint then d.issues end as d_issues
  from (${select(related, `${DRAFT_STATE}, ${BYTES} as bytes`)} where v.id = any($1::text[])) page
  join version v on v.id = page.id
  left join draft d on d.id = page.id`;

/**
 * The entities of these ids, by id; one statement for any number, or two if their documents are large. Staged
 * forms are named without content. Relations are included if `EntityKind.related` is given.
 *
 * @throws ServiceError with a `budget`, as `DocumentBudget.load`
 */
export async function loadEntities(
  sql: Sql,
  ids: readonly string[],
  related?: string,
  budget?: DocumentBudget,
): Promise<Map<string, Entity>> {
  if (ids.length === 0) return new Map();
  const rows =
    budget === undefined
      ? await sql.$queryRawUnsafe<EntityRow[]>(`${select(related)} where v.id = any($1::text[])`, ids)
      : await budget.load((bytes) => sql.$queryRawUnsafe<EntityRow[]>(selectWithin(related), ids, bytes));
  return new Map(rows.map((row) => [row.id, entityOf(row)]));
}

export async function lockEntities(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.$queryRawUnsafe('select id from version where id = any($1::text[]) order by id for update', ids);
}

/** Locks a parent against new versions and changes of its shared state. */
export async function lockParent(sql: Sql, parentId: string): Promise<void> {
  await sql.$queryRawUnsafe('select id from parent where id = $1 for update', parentId);
}

/** As `lockParent`, for the parent of a version. */
export async function lockParentOf(sql: Sql, id: string): Promise<void> {
  await sql.$queryRawUnsafe(
    'select id from parent where id = (select parent_id from version where id = $1) for update',
    id,
  );
}

/** The version of a parent that was not published yet; there is at most one. */
export async function findOpenVersion(
  sql: Sql,
  parentId: string,
  related: string,
): Promise<Entity | undefined> {
  const rows = await sql.$queryRawUnsafe<EntityRow[]>(
    `${select(related)} where v.parent_id = $1 and not v.visible`,
    parentId,
  );
  return rows.map(entityOf)[0];
}

/** The highest published version of a parent. */
export async function loadLatest(sql: Sql, parentId: string, related?: string): Promise<Entity | undefined> {
  const rows = await sql.$queryRawUnsafe<EntityRow[]>(
    `${select(related)} where v.parent_id = $1 and v.visible and v.removed_at is null order by v.version_index desc limit 1`,
    parentId,
  );
  return rows.map(entityOf)[0];
}

/** Ids of versions after an id, in order. */
export async function listVersionIds(sql: Sql, afterId: string, limit: number): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ id: string }[]>(
    'select id from version where id > $1 order by id limit $2::int',
    afterId,
    limit,
  );
  return rows.map(({ id }) => id);
}

/** All versions of a parent. */
export async function loadVersionIds(sql: Sql, parentId: string): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ id: string }[]>(
    'select id from version where parent_id = $1 order by version_index',
    parentId,
  );
  return rows.map(({ id }) => id);
}

/** The published version below a version index; undefined if there is none. */
export async function findPreviousVersion(
  sql: Sql,
  parentId: string,
  versionIndex: number,
): Promise<string | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ id: string }[]>(
    `select id from version
     where parent_id = $1 and visible and removed_at is null and version_index < $2::int
     order by version_index desc limit 1`,
    parentId,
    versionIndex,
  );
  return row?.id;
}

/** A page of the published versions of a parent that a caller may read. */
export interface VersionPage {
  /** Highest version first. */
  ids: readonly string[];
  /** Counts of all readable versions by access and presence of files, which determine `access.status`. */
  groups: readonly { access: StoredDocument['access']; entries: number; count: number }[];
}

// An embargo ends when its day begins, in UTC.
const VERSION_PAGE = `
  with readable as (
    select id, version_index, document -> 'access' as access,
           least(coalesce((document -> 'files' -> 'entries')::int, 0), 1) as entries
    from version
    where parent_id = $1 and visible and removed_at is null
      and ($2::boolean or document -> 'access' ->> 'record' = 'public'
           or ((document -> 'access' -> 'embargo' -> 'active')::boolean
               and document -> 'access' -> 'embargo' ->> 'until' <= $3))
  )
  select array(select id from readable order by version_index desc limit $4::int offset $5::int) as ids,
         (select coalesce(jsonb_agg(g), '[]')
          from (select access, entries, count(*)::int as count from readable group by access, entries) g) as groups`;

/** @param canReadRestricted whether the caller may read restricted versions too */
export async function loadVersionPage(
  sql: Sql,
  parentId: string,
  {
    canReadRestricted,
    now,
    size,
    offset = 0,
  }: { canReadRestricted: boolean; now: Date; size: number; offset?: number },
): Promise<VersionPage> {
  const [page = { ids: [], groups: [] }] = await sql.$queryRawUnsafe<VersionPage[]>(
    VERSION_PAGE,
    parentId,
    canReadRestricted,
    now.toISOString().slice(0, 10),
    size,
    offset,
  );
  return page;
}

function entityOf(row: EntityRow): Entity {
  return {
    id: row.id,
    versionIndex: row.version_index,
    parent: {
      id: row.parent_id,
      ownerId: row.owner_id,
      managedBy: row.managed_by,
      wasManaged: row.was_managed,
      linkIds: row.link_ids,
    },
    published: publishedOf(row),
    draft: draftOf(row),
    pending: row.pending ?? [],
    latestIndex: row.latest_index,
    lastIndex: row.last_index,
    nextDraftRevision: Math.max(Number(row.revision), Number(row.draft_revision)) + 1,
    ...relatedOf(row),
  };
}

function relatedOf({ of_draft, of_published }: EntityRow): Pick<Entity, 'related'> {
  if (of_draft === undefined || of_published === undefined) return {};
  return { related: { draft: of_draft ?? [], published: of_published ?? [] } };
}

function publishedOf({
  document,
  revision,
  created_at,
  updated_at,
  removal,
}: EntityRow): Entity['published'] {
  if (document === null || created_at === null || updated_at === null) return null;
  const content = { document, revision: Number(revision), createdAt: created_at, updatedAt: updated_at };
  return removal === null ? content : { ...content, removal };
}

/**
 * For changes of state shared by all versions of a parent: rejects them while one version is being published.
 * In a transaction that locks the versions the result is valid until its end; otherwise a publication that
 * begins later waits for the locks.
 *
 * @throws ServiceError `conflict` (`draft_locked`)
 */
export async function assertParentsUnlocked(sql: Sql, parentIds: readonly string[]): Promise<void> {
  const locked = await sql.$queryRawUnsafe<object[]>(
    `select from draft d join version v on v.id = d.id
     where v.parent_id = any($1::text[]) and d.locked_by is not null limit 1`,
    parentIds,
  );
  if (locked.length > 0) throw draftLocked();
}
