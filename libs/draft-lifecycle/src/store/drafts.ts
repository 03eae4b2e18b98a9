import { type AuditEntry, entryRows, insertEntries } from '@kr/audit-trail';
import type { Sql } from '@kr/database';
import { eventRows, insertEvents, type OutboxEvent } from '@kr/event-bus';
import type { OpenDraft, StoredDocument } from '../model/entity.ts';
import type { SavedDraft } from '../model/kind.ts';

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

/** Milliseconds that creation keys are stored: as long as idempotency keys of the gateway. */
export const CREATION_KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;

// $1 entity id, $2 parent id, $3 owner, $4 document, $5 issues, $6 creation, $7 events, $8 audit entries, $9 creation key
// or null, $10 creations until then have expired. Waits for a concurrent creation with the same key. Each creation
// deletes more expired keys than it adds.
const INSERT_ENTITY = `
  with free as (
    select where not exists (select from version where id in ($1, $2))
             and not exists (select from parent where id in ($1, $2))
  ), expired_keys as (
    delete from creation where $9::bytea is not null and key in (
      select key from creation where created_at <= $10::timestamptz and key <> $9 limit 2 for update skip locked)
  ), claimed_key as (
    insert into creation as stored (key, entity_id, created_at)
    select $9, $1, $6::timestamptz from free where $9 is not null
    on conflict (key) do update set entity_id = excluded.entity_id, created_at = excluded.created_at
      where stored.created_at <= $10::timestamptz
    returning key
  ), accepted as (
    select from free where $9 is null or exists (select from claimed_key)
  ), new_parent as (
    insert into parent (id, owner_id, created_at) select $2, $3, $6::timestamptz from accepted
  ), new_version as (
    insert into version (id, parent_id, version_index) select $1, $2, 1 from accepted
  ), outbox_rows as (${insertEvents('$7', 'accepted')}
  ), audit_entries as (${insertEntries('$8', 'accepted')})
  insert into draft (id, document, issues, revision, created_at, updated_at)
  select $1, $4::jsonb, $5::jsonb, 1, $6::timestamptz, $6::timestamptz from accepted`;

/**
 * Inserts a new entity and its parent with their events, in one statement that needs no transaction. With a key, a
 * repeated creation finds the entity.
 *
 * @returns false, and nothing written, when one of the ids is taken or the creation is a repeated one
 */
export async function insertEntity(
  sql: Sql,
  { id, parent, draft }: OpenDraft,
  { events, entries }: ChangeLog,
  key: Uint8Array | null,
): Promise<boolean> {
  const written = await sql.$executeRawUnsafe(
    INSERT_ENTITY,
    id,
    parent.id,
    parent.ownerId,
    JSON.stringify(draft.document),
    JSON.stringify(draft.issues),
    draft.createdAt.toISOString(),
    eventRows(events),
    entryRows(entries),
    key,
    expiryOfKeys(draft.createdAt),
  );
  return written === 1;
}

/** The id of the entity of a creation key; undefined if the key is unknown or has expired, or the entity is gone. */
export async function findRepeatedCreation(
  sql: Sql,
  key: Uint8Array,
  now: Date,
): Promise<string | undefined> {
  const [creation] = await sql.$queryRawUnsafe<{ entity_id: string }[]>(
    'select entity_id from creation where key = $1 and created_at > $2::timestamptz',
    key,
    expiryOfKeys(now),
  );
  return creation?.entity_id;
}

/** Keys of creations up to this instant have expired. */
function expiryOfKeys(now: Date): string {
  return new Date(now.getTime() - CREATION_KEY_LIFETIME_MS).toISOString();
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
    `with new_version as (insert into version (id, parent_id, version_index) values ($1, $2, $3::int))
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

// Waits for the entity's lock first, as all writers do. Postgres then reads the row again, so a change of the draft
// meanwhile is detected.
const REPLACE_UNCHANGED = `
  with current as (select id from version where id = $1 for update),
  saved as (
    update draft set document = $2::jsonb, issues = $3::jsonb, revision = $5::bigint, updated_at = $4::timestamptz,
      restriction_revision = $8::bigint
    from current where draft.id = current.id and draft.revision = $5::bigint - 1 and draft.locked_by is null
    returning draft.id
  ), audited as (${insertEntries('$7', 'saved')})
  ${insertEvents('$6', 'saved')}`;

export async function replaceUnchanged(
  sql: Sql,
  { id, draft }: OpenDraft,
  { events, entries }: ChangeLog,
): Promise<boolean> {
  const written = await sql.$executeRawUnsafe(
    REPLACE_UNCHANGED,
    id,
    JSON.stringify(draft.document),
    JSON.stringify(draft.issues),
    draft.updatedAt.toISOString(),
    draft.revision,
    eventRows(events),
    entryRows(entries),
    draft.restrictionRevision,
  );
  return written > 0;
}

/** Deletes the draft of a locked entity; an entity that was never published is deleted completely. */
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
