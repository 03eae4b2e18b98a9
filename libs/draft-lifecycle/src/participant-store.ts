import type { Actor } from '@kr/caller';
import type { Sql } from '@kr/database';
import type { Issue } from '@kr/service-error';
import type { Fence, ParticipantState } from './participant-rules.ts';

export interface Participant extends Fence {
  publicationId: string;
  packageId: string;
  packageParentId: string;
  stagedIds: readonly string[];
  unchangedIds: readonly string[];
  issues: readonly Issue[];
  /** The actor; null if unknown: before the vote, or from the previous release. */
  actor: Actor | null;
}

interface ParticipantRow {
  state: ParticipantState;
  epoch: number;
  package_id: string;
  package_parent_id: string;
  staged_ids: string[];
  unchanged_ids: string[];
  issues: Issue[];
  actor: Actor | null;
}

interface NoParticipantRow {
  state: null;
}

// From here on the transaction fails rather than wait longer than 2 s for a lock.
const LOCK_PUBLICATION = `
  select set_config('lock_timeout', '2s', true), pg_advisory_xact_lock(hashtextextended($1, 0))::text`;

// The entities are held in the order of their ids, as everybody holds them.
const HOLD_ENTITIES = `
  with held as (
    select id from version where id = any($2::text[]) or publication_id = $1 order by id for update
  )
  select held_entities, state, epoch, package_id, package_parent_id, staged_ids, unchanged_ids, issues, actor
  from (select count(*) as held_entities from held) as every_one
  left join participant on publication_id = $1`;

/**
 * The participant row, held until the transaction ends. Where there is none, another transaction that is about to
 * write it is waited for all the same: the lock is on the publication's id.
 */
export async function lockParticipant(
  tx: Sql,
  publicationId: string,
  ids: readonly string[] = [],
): Promise<Participant | null> {
  const [, [row]] = await Promise.all([
    tx.$queryRawUnsafe(LOCK_PUBLICATION, publicationId),
    tx.$queryRawUnsafe<(ParticipantRow | NoParticipantRow)[]>(HOLD_ENTITIES, publicationId, ids),
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

export async function forgetEnded(sql: Sql, before: Date): Promise<void> {
  await sql.$executeRawUnsafe(
    "delete from participant where state <> 'prepared' and updated_at < $1::timestamptz",
    before.toISOString(),
  );
}
