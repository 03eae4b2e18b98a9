import { entryRows, insertEntries } from '@kr/audit-trail';
import type { Actor } from '@kr/caller';
import { executeWithNext, type Sql } from '@kr/database';
import { eventRows, insertEvents } from '@kr/event-bus';
import type { Issue } from '@kr/service-error';
import type { Removal, StoredDocument } from '../model/entity.ts';
import type { PublishedEntity } from '../model/kind.ts';
import type {
  Candidate,
  Participation,
  ParticipationState,
  PublicationRequest,
} from '../model/publication.ts';
import type { ChangeLog } from './drafts.ts';
import { DRAFT_COLUMNS, type DraftRow, draftOf } from './entities.ts';

/** The parts of a document that publishing changes; the others are those of the draft. */
export type PublishedParts = Pick<StoredDocument, 'files' | 'pids'>;

/** A form that becomes visible when its publication is committed. */
export interface StagedForm {
  id: string;
  publishedParts: PublishedParts;
  /** The lowest possible value; higher if the entity changed meanwhile. */
  revision: number;
}

// A refusal stages nothing. Documents of any size are copied inside Postgres.
const VOTE = `
  with form as (
    select id, "publishedParts" as parts, revision
    from jsonb_to_recordset($2::jsonb) as f(id text, "publishedParts" jsonb, revision bigint)
  ), locked as (
    update draft d set locked_by = $1 from form where d.id = form.id
  ), staged as (
    update version v
    set publication_id = $1, staged = d.document || form.parts, staged_revision = form.revision,
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
  vote: StoredParticipation,
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
  current as (select id from version where id = ${id} for update),
  locked as (
    update draft set locked_by = ${publicationId} from current
    where draft.id = current.id and draft.revision = ${revision}::bigint and draft.locked_by is null
    returning draft.id
  )`;
}

const REVEAL_STAGED = `
  with revealed as (
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
    where former.parent_id = revealed.parent_id and former.visible and former.version_index < revealed.version_index
    order by former.version_index desc limit 1
  ) as former_latest_id
  from revealed order by id`;

export async function revealStaged(tx: Sql, publicationId: string, at: Date): Promise<PublishedEntity[]> {
  const rows = await tx.$queryRawUnsafe<
    { id: string; parent_id: string; revision: bigint; former_latest_id: string | null }[]
  >(REVEAL_STAGED, publicationId, at.toISOString());
  return rows.map((row) => ({
    id: row.id,
    parentId: row.parent_id,
    revision: Number(row.revision),
    formerLatestId: row.former_latest_id,
  }));
}

const DROP_STAGED = `
  with dropped as (
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

const REVEAL_DRAFT = `
  with revealed as (
    update version v
    set document = d.document || $3::jsonb, visible = true, revision = $4::bigint,
        created_at = coalesce(v.created_at, $5::timestamptz), updated_at = $5::timestamptz
    from draft d where v.id = $2 and d.id = v.id returning v.id
  ), dropped as (
    delete from draft where id = $2 and locked_by = $1
  ), audited as (${insertEntries('$7', 'revealed')})
  ${insertEvents('$6', 'revealed')}`;

export async function revealDraft(
  tx: Sql,
  publicationId: string,
  { id, publishedParts, revision }: StagedForm,
  { events, entries }: ChangeLog,
  at: Date,
): Promise<void> {
  await executeWithNext(
    tx,
    REVEAL_DRAFT,
    publicationId,
    id,
    JSON.stringify(publishedParts),
    revision,
    at.toISOString(),
    eventRows(events),
    entryRows(entries),
  );
}

export async function unlockDrafts(tx: Sql, publicationId: string): Promise<void> {
  await executeWithNext(tx, 'update draft set locked_by = null where locked_by = $1', publicationId);
}

export interface StoredParticipation extends Participation {
  publicationId: string;
  packageId: string;
  packageParentId: string;
  stagedIds: readonly string[];
  unchangedIds: readonly string[];
  issues: readonly Issue[];
  /** The caller who publishes; null without a vote. */
  actor: Actor | null;
}

interface ParticipationRow {
  state: ParticipationState;
  epoch: number;
  package_id: string;
  package_parent_id: string;
  staged_ids: string[];
  unchanged_ids: string[];
  issues: Issue[];
  actor: Actor | null;
}

interface NoParticipationRow {
  state: null;
}

// From here on the transaction fails if it waits 2 s for a lock.
const LOCK_PUBLICATION = `
  select set_config('lock_timeout', '2s', true), pg_advisory_xact_lock(hashtextextended($1, 0))::text`;

// Every transaction locks entities in the order of their ids.
const LOCK_ENTITIES = `
  with locked as (
    select id from version where id = any($2::text[]) or publication_id = $1 order by id for update
  )
  select locked_entities, state, epoch, package_id, package_parent_id, staged_ids, unchanged_ids, issues, actor
  from (select count(*) as locked_entities from locked) as all_locked
  left join participant on publication_id = $1`;

/**
 * The participant row, locked until the transaction ends. The lock is on the publication's id, so it also waits for a
 * transaction that is about to write the row.
 */
export async function lockPublicationAndEntities(
  tx: Sql,
  publicationId: string,
  ids: readonly string[] = [],
): Promise<StoredParticipation | null> {
  // Pipelined: the second statement runs after the first has the lock.
  const [, [row]] = await Promise.all([
    tx.$queryRawUnsafe(LOCK_PUBLICATION, publicationId),
    tx.$queryRawUnsafe<(ParticipationRow | NoParticipationRow)[]>(LOCK_ENTITIES, publicationId, ids),
  ]);
  if (row === undefined || row.state === null) return null;
  return {
    publicationId,
    state: row.state,
    epoch: row.epoch,
    packageId: row.package_id,
    packageParentId: row.package_parent_id,
    stagedIds: row.staged_ids,
    unchangedIds: row.unchanged_ids,
    issues: row.issues,
    actor: row.actor,
  };
}

export async function preparedBefore(sql: Sql, at: Date, limit: number): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ publication_id: string }[]>(
    `select publication_id from participant where state = 'prepared' and updated_at < $1::timestamptz
     order by updated_at limit $2::int`,
    at.toISOString(),
    limit,
  );
  return rows.map((row) => row.publication_id);
}

export async function deleteEnded(sql: Sql, before: Date): Promise<void> {
  await sql.$executeRawUnsafe(
    "delete from participant where state <> 'prepared' and updated_at < $1::timestamptz",
    before.toISOString(),
  );
}

/** The first of the requested entities, up to the size of one vote, in the order of the request. */
export interface CandidatePart {
  candidates: ReadonlyMap<string, Candidate>;
  /** The ids for further votes. */
  remainingIds: readonly string[];
  /** JSON bytes of the drafts in this part; 0 without a limit. */
  bytes: number;
}

interface CandidateRow extends DraftRow {
  id: string;
  revision: bigint;
  draft_revision: bigint;
  visible: boolean;
  removal: Removal | null;
  managed_by: string | null;
}

type PartRow = { taken: number; bytes: bigint } & (CandidateRow | { id: null });

const ALL = 'part as (select cardinality($1::text[]) as taken, 0::bigint as bytes)';

// Recursive, so that drafts behind the end of the part are not read. The first is always included.
const FIRST = `
  taking (taken, bytes) as (
    select 0, 0::bigint
    union all
    select taken + 1, bytes + coalesce((
      select octet_length(d.document::text) from draft d join version v on v.id = d.id
      where d.id = ($1::text[])[taken + 1] and not (v.visible and $2::boolean)
    ), 0)
    from taking where taken < cardinality($1::text[]) and bytes < $3::bigint
  ), part as (select max(taken) as taken, max(bytes) as bytes from taking)`;

// A published version of a package and its draft stay unchanged: neither is read.
const loadPart = (part: string) => `
  with recursive ${part}
  select part.taken, part.bytes, c.*
  from part
  left join lateral (
    select v.id, v.revision, v.draft_revision, v.visible, v.removal, p.managed_by,
           ${DRAFT_COLUMNS}
    from version v
    join parent p on p.id = v.parent_id
    left join draft d on d.id = v.id and not (v.visible and $2::boolean)
    where v.id = any(($1::text[])[1:part.taken])
  ) c on true`;

const LOAD_ALL = loadPart(ALL);
const LOAD_FIRST = loadPart(FIRST);

/**
 * The data of the entities that a vote needs; one statement for any number.
 *
 * @param maxBytes of drafts in this part; null: no limit
 */
export async function loadCandidates(
  sql: Sql,
  { packageParentId, ids }: Pick<PublicationRequest, 'packageParentId' | 'ids'>,
  maxBytes: number | null,
): Promise<CandidatePart> {
  const isPackage = packageParentId !== '';
  const rows =
    maxBytes === null
      ? await sql.$queryRawUnsafe<PartRow[]>(LOAD_ALL, ids, isPackage)
      : await sql.$queryRawUnsafe<PartRow[]>(LOAD_FIRST, ids, isPackage, maxBytes);
  const found = rows.filter((row) => row.id !== null);
  return {
    candidates: new Map(found.map((row) => [row.id, candidateOf(row)])),
    remainingIds: ids.slice(rows[0]?.taken),
    bytes: Number(rows[0]?.bytes ?? 0),
  };
}

function candidateOf(row: CandidateRow): Candidate {
  const revision = Number(row.revision);
  return {
    id: row.id,
    parent: { managedBy: row.managed_by },
    published: row.visible ? { revision, ...(row.removal !== null && { removal: row.removal }) } : null,
    draft: draftOf(row),
    nextDraftRevision: Math.max(revision, Number(row.draft_revision)) + 1,
  };
}
