import { entryRows, insertEntries } from '@kr/audit-trail';
import { executeWithNext, type Sql } from '@kr/database';
import { eventRows, insertEvents } from '@kr/event-bus';
import type { Told } from './draft-store.ts';
import type { PublishedEntity } from './entity-kind.ts';
import type { Participant } from './participant-store.ts';
import type { StoredDocument } from './stored-document.ts';

/** The parts of a document that publishing changes; the others are those of the draft. */
export type Sealed = Pick<StoredDocument, 'files' | 'pids'>;

/** A form that a publication will show when it is committed. */
export interface StagedForm {
  id: string;
  sealed: Sealed;
  /** At least this much; more if the entity changed meanwhile. */
  revision: number;
}

// One statement for a yes and a no: a no stages nothing. The documents stay in the database, as large as they may be.
const VOTE = `
  with form as (
    select id, sealed, revision from jsonb_to_recordset($2::jsonb) as f(id text, sealed jsonb, revision bigint)
  ), held as (
    update draft d set locked_by = $1 from form where d.id = form.id
  ), staged as (
    update version v
    set publication_id = $1, staged = d.document || form.sealed, staged_revision = form.revision,
        staged_at = $3::timestamptz
    from form join draft d using (id) where v.id = form.id
  )
  insert into participant
    (publication_id, state, epoch, package_id, package_parent_id, staged_ids, unchanged_ids, issues, actor,
     updated_at)
  values ($1, $4, $5::int, $6, $7, $8::text[], $9::text[], $10::jsonb, $11::jsonb, $3::timestamptz)
  on conflict (publication_id) do update
    set (state, epoch, package_id, package_parent_id, staged_ids, unchanged_ids, issues, actor, updated_at)
      = (excluded.state, excluded.epoch, excluded.package_id, excluded.package_parent_id, excluded.staged_ids,
         excluded.unchanged_ids, excluded.issues, excluded.actor, excluded.updated_at)`;

export async function writeVote(
  tx: Sql,
  vote: Participant,
  forms: readonly StagedForm[],
  at: Date,
): Promise<void> {
  await executeWithNext(
    tx,
    VOTE,
    vote.publicationId,
    JSON.stringify(forms),
    at.toISOString(),
    vote.state,
    vote.epoch,
    vote.packageId,
    vote.packageParentId,
    vote.stagedIds,
    vote.unchangedIds,
    JSON.stringify(vote.issues),
    JSON.stringify(vote.actor),
  );
}

/**
 * Locks a draft as a part of another statement, after concurrent changes. The parameters are the entity's id,
 * the change number that the draft must have, and the publication that locks it; `locked` is a relation
 * with one row on success, and none when the draft has changed or another publication has locked it.
 */
export function lockUnchanged(id: string, revision: string, publicationId: string): string {
  return `
  held as (select id from version where id = ${id} for update),
  locked as (
    update draft set locked_by = ${publicationId} from held
    where draft.id = held.id and draft.revision = ${revision}::bigint and draft.locked_by is null
    returning draft.id
  )`;
}

const SHOW_STAGED = `
  with shown as (
    update version v
    set document = staged, visible = true,
        revision = greatest(v.revision + 1, staged_revision, (select d.revision + 1 from draft d where d.id = v.id)),
        created_at = coalesce(created_at, staged_at), updated_at = staged_at,
        publication_id = null, staged = null, staged_revision = null, staged_at = null
    where publication_id = $1
    returning id, parent_id, version_index, revision
  ), dropped as (
    delete from draft where locked_by = $1
  ), applied as (
    update participant set state = 'applied', updated_at = $2::timestamptz where publication_id = $1
  )
  select id, parent_id, revision, (
    select former.id from version former
    where former.parent_id = shown.parent_id and former.visible and former.version_index < shown.version_index
    order by former.version_index desc limit 1
  ) as former_latest_id
  from shown order by id`;

export async function showStaged(tx: Sql, publicationId: string, at: Date): Promise<PublishedEntity[]> {
  const rows = await tx.$queryRawUnsafe<
    { id: string; parent_id: string; revision: bigint; former_latest_id: string | null }[]
  >(SHOW_STAGED, publicationId, at.toISOString());
  return rows.map((row) => ({
    id: row.id,
    parentId: row.parent_id,
    revision: Number(row.revision),
    formerLatestId: row.former_latest_id,
  }));
}

const DROP_STAGED = `
  with forgotten as (
    update version set publication_id = null, staged = null, staged_revision = null, staged_at = null
    where publication_id = $1
  ), unlocked as (
    update draft set locked_by = null where locked_by = $1
  )
  insert into participant (publication_id, state, epoch, updated_at) values ($1, 'aborted', 0, $2::timestamptz)
  on conflict (publication_id) do update set state = excluded.state, updated_at = excluded.updated_at`;

export async function dropStaged(tx: Sql, publicationId: string, at: Date): Promise<void> {
  await executeWithNext(tx, DROP_STAGED, publicationId, at.toISOString());
}

const SHOW_DRAFT = `
  with shown as (
    update version v
    set document = d.document || $3::jsonb, visible = true, revision = $4::bigint,
        created_at = coalesce(v.created_at, $5::timestamptz), updated_at = $5::timestamptz
    from draft d where v.id = $2 and d.id = v.id returning v.id
  ), dropped as (
    delete from draft where id = $2 and locked_by = $1
  ), audited as (${insertEntries('$7', 'shown')})
  ${insertEvents('$6', 'shown')}`;

export async function showDraft(
  tx: Sql,
  publicationId: string,
  { id, sealed, revision }: StagedForm,
  { events, entries }: Told,
  at: Date,
): Promise<void> {
  await executeWithNext(
    tx,
    SHOW_DRAFT,
    publicationId,
    id,
    JSON.stringify(sealed),
    revision,
    at.toISOString(),
    eventRows(events),
    entryRows(entries),
  );
}

export async function unlockDrafts(tx: Sql, publicationId: string): Promise<void> {
  await executeWithNext(tx, 'update draft set locked_by = null where locked_by = $1', publicationId);
}
