import type { Issue } from '@kr/service-error';
import type { LifecycleSql } from './lifecycle-sql.ts';
import type { Fence, ParticipantState } from './participant-rules.ts';

export interface Participant extends Fence {
  publicationId: string;
  packageId: string;
  packageParentId: string;
  stagedIds: readonly string[];
  unchangedIds: readonly string[];
  issues: readonly Issue[];
}

interface ParticipantRow {
  state: ParticipantState;
  epoch: number;
  package_id: string;
  package_parent_id: string;
  staged_ids: string[];
  unchanged_ids: string[];
  issues: Issue[];
}

export async function limitLockWaits(tx: LifecycleSql): Promise<void> {
  await tx.$executeRawUnsafe("set local lock_timeout = '2s'");
}

/**
 * The participant row, held until the transaction ends. Where there is none, another transaction that is about to
 * write it is waited for all the same: the lock is on the publication's id.
 */
export async function lockParticipant(tx: LifecycleSql, publicationId: string): Promise<Participant | null> {
  await tx.$queryRawUnsafe('select pg_advisory_xact_lock(hashtextextended($1, 0))::text', publicationId);
  const [row] = await tx.$queryRawUnsafe<ParticipantRow[]>(
    `select state, epoch, package_id, package_parent_id, staged_ids, unchanged_ids, issues
     from participant where publication_id = $1`,
    publicationId,
  );
  if (row === undefined) return null;
  return {
    publicationId,
    state: row.state,
    epoch: row.epoch,
    packageId: row.package_id,
    packageParentId: row.package_parent_id,
    stagedIds: row.staged_ids,
    unchangedIds: row.unchanged_ids,
    issues: row.issues,
  };
}

export async function writeParticipant(tx: LifecycleSql, participant: Participant, at: Date): Promise<void> {
  await tx.$executeRawUnsafe(
    `insert into participant
       (publication_id, state, epoch, package_id, package_parent_id, staged_ids, unchanged_ids, issues, updated_at)
     values ($1, $2, $3::int, $4, $5, $6::text[], $7::text[], $8::jsonb, $9::timestamptz)
     on conflict (publication_id) do update
       set (state, epoch, package_id, package_parent_id, staged_ids, unchanged_ids, issues, updated_at)
         = (excluded.state, excluded.epoch, excluded.package_id, excluded.package_parent_id, excluded.staged_ids,
            excluded.unchanged_ids, excluded.issues, excluded.updated_at)`,
    participant.publicationId,
    participant.state,
    participant.epoch,
    participant.packageId,
    participant.packageParentId,
    participant.stagedIds,
    participant.unchangedIds,
    JSON.stringify(participant.issues),
    at.toISOString(),
  );
}

export async function preparedBefore(sql: LifecycleSql, at: Date, limit: number): Promise<string[]> {
  const rows = await sql.$queryRawUnsafe<{ publication_id: string }[]>(
    `select publication_id from participant where state = 'prepared' and updated_at < $1::timestamptz
     order by updated_at limit $2::int`,
    at.toISOString(),
    limit,
  );
  return rows.map((row) => row.publication_id);
}

export async function forgetEnded(sql: LifecycleSql, before: Date): Promise<void> {
  await sql.$executeRawUnsafe(
    "delete from participant where state <> 'prepared' and updated_at < $1::timestamptz",
    before.toISOString(),
  );
}
