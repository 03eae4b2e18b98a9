import { type AuditEntry, entryRows, insertEntries } from '@kr/audit-trail';
import type { Sql } from '@kr/database';
import { eventRows, insertEvents, type OutboxEvent } from '@kr/event-bus';
import type { Issue } from '@kr/service-error';
import type { StoredDocument } from '../model/entity.ts';
import { lasting } from '../model/issues.ts';
import type { SavedDraft } from '../model/kind.ts';

export interface Content {
  document: StoredDocument;
  issues: readonly Issue[];
}

export interface SeenDraft {
  id: string;
  revision: number;
}

/** Events and audit entries of a change. */
export interface ChangeLog {
  events: readonly OutboxEvent[];
  entries: readonly AuditEntry[];
}

export interface NewDraft {
  id: string;
  revision: number;
  document: StoredDocument;
}

const INSERT_ENTITY = `
  with free as (
    select where not exists (select from version where id in ($1, $2))
             and not exists (select from parent where id in ($1, $2))
  ), p as (
    insert into parent (id, owner_id, created_at) select $2, $3, $6::timestamptz from free
  ), v as (
    insert into version (id, parent_id, version_index) select $1, $2, 1 from free
  ), told as (${insertEvents('$7', 'free')}
  ), audited as (${insertEntries('$8', 'free')})
  insert into draft (id, document, issues, revision, created_at, updated_at)
  select $1, $4::jsonb, $5::jsonb, 1, $6::timestamptz, $6::timestamptz from free`;

/**
 * Inserts an entity with a new parent and its events, in one statement that needs no transaction. False,
 * and nothing written, when one of the ids is taken.
 */
export async function insertEntity(
  sql: Sql,
  { id, parentId, ownerId, document, issues }: Content & { id: string; parentId: string; ownerId: string },
  { events, entries }: ChangeLog,
  at: Date,
): Promise<boolean> {
  const written = await sql.$executeRawUnsafe(
    INSERT_ENTITY,
    id,
    parentId,
    ownerId,
    JSON.stringify(document),
    JSON.stringify(lasting(issues)),
    at.toISOString(),
    eventRows(events),
    entryRows(entries),
  );
  return written === 1;
}

/** The next version of a parent that is locked, as a draft. */
export async function insertVersion(
  tx: Sql,
  {
    id,
    parentId,
    versionIndex,
    document,
  }: { id: string; parentId: string; versionIndex: number; document: StoredDocument },
  at: Date,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `with v as (insert into version (id, parent_id, version_index) values ($1, $2, $3::int))
     insert into draft (id, document, revision, created_at, updated_at)
     values ($1, $4::jsonb, 1, $5::timestamptz, $5::timestamptz)`,
    id,
    parentId,
    versionIndex,
    JSON.stringify(document),
    at.toISOString(),
  );
}

export async function insertDraft(tx: Sql, { id, revision, document }: NewDraft, at: Date): Promise<void> {
  await tx.$executeRawUnsafe(
    `insert into draft (id, document, revision, created_at, updated_at)
     values ($1, $2::jsonb, $3::bigint, $4::timestamptz, $4::timestamptz)`,
    id,
    JSON.stringify(document),
    revision,
    at.toISOString(),
  );
}

// Waits for the entity's lock first, as all writers do. Postgres reads a row again that changed since the
// statement began, so a change of the draft meanwhile is detected.
const REPLACE_UNCHANGED = `
  with held as (select id from version where id = $1 for update),
  saved as (
    update draft set document = $2::jsonb, issues = $3::jsonb, revision = revision + 1, updated_at = $4::timestamptz
    from held where draft.id = held.id and draft.revision = $5::bigint and draft.locked_by is null
    returning draft.id
  ), audited as (${insertEntries('$7', 'saved')})
  ${insertEvents('$6', 'saved')}`;

export async function replaceUnchanged(
  sql: Sql,
  { id, revision }: SeenDraft,
  { document, issues }: Content,
  { events, entries }: ChangeLog,
  at: Date,
): Promise<boolean> {
  const written = await sql.$executeRawUnsafe(
    REPLACE_UNCHANGED,
    id,
    JSON.stringify(document),
    JSON.stringify(lasting(issues)),
    at.toISOString(),
    revision,
    eventRows(events),
    entryRows(entries),
  );
  return written === 1;
}

export async function replaceDraft(
  tx: Sql,
  id: string,
  { document, issues }: Content,
  at: Date,
): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ revision: bigint }[]>(
    `update draft set document = $2::jsonb, issues = $3::jsonb, revision = revision + 1, updated_at = $4::timestamptz
     where id = $1 returning revision`,
    id,
    JSON.stringify(document),
    JSON.stringify(lasting(issues)),
    at.toISOString(),
  );
  return Number(row?.revision);
}

/** Discards the draft of an entity that is locked; what was never published goes altogether. */
export async function removeDraft(
  tx: Sql,
  {
    id,
    parentId,
    revision,
    isPublished,
    isParentGone,
  }: SavedDraft & { isPublished: boolean; isParentGone: boolean },
): Promise<void> {
  await tx.$executeRawUnsafe('delete from draft where id = $1', id);
  if (isPublished) {
    await tx.$executeRawUnsafe('update version set draft_revision = $2::bigint where id = $1', id, revision);
    return;
  }
  await tx.$executeRawUnsafe('delete from version where id = $1', id);
  if (isParentGone) await tx.$executeRawUnsafe('delete from parent where id = $1', parentId);
}

/** How long a repeated creation is known, in milliseconds: as long as the gateway knows an idempotency key. */
export const CREATION_KNOWN_MS = 24 * 60 * 60 * 1000;

/**
 * Notes which entity a creation has made; one that is under way elsewhere is waited for. Notes whose time is over are
 * removed with it, more than are made.
 *
 * @returns the entity that this creation made first: another one than was given, when it is a repeated one
 */
export async function noteCreation(
  tx: Sql,
  { key, entityId }: { key: Uint8Array; entityId: string },
  at: Date,
): Promise<string> {
  const longAgo = new Date(at.getTime() - CREATION_KNOWN_MS).toISOString();
  const written = await tx.$executeRawUnsafe(
    `with swept as (
       delete from creation where key in (
         select key from creation where created_at <= $4::timestamptz and key <> $1 limit 2 for update skip locked)
     )
     insert into creation as known (key, entity_id, created_at) values ($1, $2, $3::timestamptz)
     on conflict (key) do update set entity_id = excluded.entity_id, created_at = excluded.created_at
       where known.created_at <= $4::timestamptz`,
    key,
    entityId,
    at.toISOString(),
    longAgo,
  );
  if (written === 1) return entityId;
  const [known] = await tx.$queryRawUnsafe<{ entity_id: string }[]>(
    'select entity_id from creation where key = $1',
    key,
  );
  return known?.entity_id ?? entityId;
}
