import { fileURLToPath } from 'node:url';
import { appendAudited } from '@kr/audit-trail';
import type { Sql, SqlDatabase } from '@kr/database';
import type { Entity, OpenDraft } from '../model/entity.ts';
import type { PublishedEntity } from '../model/kind.ts';
import type { PublicationRequest } from '../model/publication.ts';
import type { DocumentBudget } from './document-budget.ts';
import { type ChangeLog, insertDraft, type NewDraft, replaceUnchanged } from './drafts.ts';
import { loadEntities, lockEntities } from './entities.ts';
import {
  type CandidatePart,
  deleteEnded,
  dropStaged,
  loadCandidates,
  lockPublicationAndEntities,
  preparedBefore,
  revealDraft,
  revealStaged,
  type StagedForm,
  type StoredParticipation,
  unlockDrafts,
  writeVote,
} from './staging.ts';

/** The state that a vote is computed from. */
export interface LockedForVote extends CandidatePart {
  /** Null if the publication has no row. */
  readonly former: StoredParticipation | null;
}

/**
 * Store operations of publications, their readers and concurrent edits: only the statements that `test/simulation` replaces. Other
 * operations import the files of this folder. `Sql` is a transaction: its locks are released at
 * its end, and its writes are rolled back when it fails.
 */
export interface LifecycleStore {
  /**
   * Locks and reads the row of a publication, and locks the entities that it staged and those of these ids. Waits for a
   * transaction that is about to write the row. From then on the transaction fails if it waits 2 s for a lock.
   */
  lockPublicationAndEntities(
    tx: Sql,
    publicationId: string,
    ids?: readonly string[],
  ): Promise<StoredParticipation | null>;
  /** As `lockPublicationAndEntities`, with the state of the locked entities; `maxBytes` as of `loadCandidates`. */
  lockForVote(tx: Sql, request: PublicationRequest, maxBytes: number | null): Promise<LockedForVote>;
  /** Publications prepared before an instant that have no known decision. */
  preparedBefore(sql: SqlDatabase, at: Date, limit: number): Promise<string[]>;
  /** Drops the rows of publications that ended before an instant. */
  deleteEnded(sql: SqlDatabase, before: Date): Promise<void>;

  /** Locks an entity, waiting for concurrent changes, and returns its state after the wait; undefined if it is gone. */
  loadLocked(tx: Sql, id: string, related?: string): Promise<Entity | undefined>;
  /** The entities of these ids, by id. Staged forms are named without content. `related` is that of the kind. */
  loadEntities(
    sql: SqlDatabase | Sql,
    ids: readonly string[],
    related?: string,
    budget?: DocumentBudget,
  ): Promise<Map<string, Entity>>;

  /**
   * Writes the vote on a locked publication. A yes also locks the drafts and stages their published forms, in addition to
   * those of former votes; a no has no forms.
   */
  writeVote(tx: Sql, vote: StoredParticipation, forms: readonly StagedForm[], at: Date): Promise<void>;
  /** Makes the staged forms of a locked publication visible, deletes their drafts, and marks it as applied. */
  revealStaged(tx: Sql, publicationId: string, at: Date): Promise<PublishedEntity[]>;
  /**
   * Deletes the staged forms of a locked publication, unlocks the drafts, and marks it as aborted, even if it had no row.
   */
  dropStaged(tx: Sql, publicationId: string, at: Date): Promise<void>;
  /** Makes the locked draft of a locked entity visible, deletes it and writes the events. */
  revealDraft(tx: Sql, publicationId: string, form: StagedForm, log: ChangeLog, at: Date): Promise<void>;
  /** Unlocks the drafts of a publication. */
  unlockDrafts(tx: Sql, publicationId: string): Promise<void>;

  /**
   * Saves a draft and writes the events, in the given transaction or a separate one, and waits for concurrent changes.
   * `saved` is the new draft; the stored one must have the previous change number.
   *
   * @returns false, and nothing written, if the draft has changed or a publication has locked it
   */
  replaceUnchanged(sql: SqlDatabase | Sql, saved: OpenDraft, log: ChangeLog): Promise<boolean>;
  /** The draft of a published entity that is locked. */
  insertDraft(tx: Sql, draft: NewDraft, at: Date): Promise<void>;
  /** Writes events into the outbox and entries into the trail, each in the order given. */
  appendChangeLog(tx: Sql, log: ChangeLog): Promise<void>;
}

/** The lifecycle on Postgres; every operation is a constant number of statements. */
export const sqlLifecycleStore: LifecycleStore = {
  lockPublicationAndEntities,
  lockForVote,
  preparedBefore,
  deleteEnded,
  loadLocked,
  loadEntities,
  writeVote,
  revealStaged,
  dropStaged,
  revealDraft,
  unlockDrafts,
  replaceUnchanged,
  insertDraft,
  appendChangeLog: (tx, { events, entries }) => appendAudited(tx, events, entries),
};

async function loadLocked(tx: Sql, id: string, related?: string): Promise<Entity | undefined> {
  // Pipelined: the second statement runs after the first has waited for the lock.
  const [, entities] = await Promise.all([lockEntities(tx, [id]), loadEntities(tx, [id], related)]);
  return entities.get(id);
}

async function lockForVote(
  tx: Sql,
  request: PublicationRequest,
  maxBytes: number | null,
): Promise<LockedForVote> {
  // Pipelined: the second statement runs after the first has the locks.
  const [former, part] = await Promise.all([
    lockPublicationAndEntities(tx, request.publicationId, request.ids),
    loadCandidates(tx, request, maxBytes),
  ]);
  return { former, ...part };
}

/** The tables of the lifecycle, for `migrate` of `@kr/schema-migration`; a service runs it before its own set. */
export const MIGRATIONS = {
  name: 'draft_lifecycle',
  directory: fileURLToPath(new URL('../../migrations', import.meta.url)),
};
