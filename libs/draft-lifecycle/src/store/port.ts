import type { Sql, SqlDatabase } from '@kr/database';
import type { Entity, OpenDraft } from '../model/entity.ts';
import type { PublishedEntity } from '../model/kind.ts';
import type { DocumentBudget } from './document-budget.ts';
import type { ChangeLog, NewDraft } from './drafts.ts';
import type { CandidatePart, Participant, StagedForm, Wanted } from './staging.ts';

export interface HeldForVote extends CandidatePart {
  /** Null when nothing is known of the publication. */
  readonly former: Participant | null;
}

/**
 * Store operations of publications, their readers and concurrent edits. `Sql` is a transaction: its locks are released at
 * its end, and its writes are rolled back when it fails.
 */
export interface LifecycleStore {
  /**
   * Holds what is known of a publication, with the entities that it staged and those of these ids, as `loadLocked`
   * does. Also waits for a transaction that is about to write the first row of the publication. The transaction fails
   * rather than wait longer than 2 s for a lock.
   */
  lockParticipant(tx: Sql, publicationId: string, ids?: readonly string[]): Promise<Participant | null>;
  /** As `lockParticipant`, with the entities as they are once they are held; `mostBytes` as of `loadCandidates`. */
  lockForVote(
    tx: Sql,
    wanted: Wanted & { publicationId: string },
    mostBytes: number | null,
  ): Promise<HeldForVote>;
  /** Publications prepared before an instant that have no known decision. */
  preparedBefore(sql: SqlDatabase, at: Date, limit: number): Promise<string[]>;
  /** Drops the rows of publications that ended before an instant. */
  forgetEnded(sql: SqlDatabase, before: Date): Promise<void>;

  /**
   * Locks these entities in a fixed order, waiting for concurrent changes, and returns their state after the
   * wait, by id.
   */
  loadLocked(tx: Sql, ids: readonly string[], related?: string): Promise<Map<string, Entity>>;
  /** The entities of these ids, by id. Staged forms are only named, not shown. `related` is that of the kind. */
  loadEntities(
    sql: SqlDatabase | Sql,
    ids: readonly string[],
    related?: string,
    budget?: DocumentBudget,
  ): Promise<Map<string, Entity>>;

  /**
   * Writes the vote on a publication that is held. For a yes it also locks the drafts and keeps their published forms,
   * whole, beside what is visible, and beside those of former votes; for a no there are no forms.
   */
  writeVote(tx: Sql, vote: Participant, forms: readonly StagedForm[], at: Date): Promise<void>;
  /** Shows what a publication that is held staged, drops its drafts, and remembers it as applied. */
  showStaged(tx: Sql, publicationId: string, at: Date): Promise<PublishedEntity[]>;
  /**
   * Forgets what a publication that is held staged, leaves the drafts as they were, and remembers it as aborted, also
   * where nothing was known of it.
   */
  dropStaged(tx: Sql, publicationId: string, at: Date): Promise<void>;
  /** Makes one locked draft visible, of a locked entity, deletes it and writes the events. */
  showDraft(tx: Sql, publicationId: string, form: StagedForm, log: ChangeLog, at: Date): Promise<void>;
  /** Ends the hold of a publication on drafts. */
  unlockDrafts(tx: Sql, publicationId: string): Promise<void>;

  /**
   * Saves a draft unless it changed since the caller read it, and writes the events, in a separate transaction that
   * waits for concurrent changes. `saved` is the draft as it shall be; before, it must have the change number below.
   * False, and nothing written, when the draft has changed or a publication has locked it.
   */
  replaceUnchanged(database: SqlDatabase, saved: OpenDraft, log: ChangeLog): Promise<boolean>;
  /** The draft of a published entity that is locked. */
  insertDraft(tx: Sql, draft: NewDraft, at: Date): Promise<void>;
  /** Writes events into the outbox and entries into the trail, each in the order given. */
  appendChangeLog(tx: Sql, log: ChangeLog): Promise<void>;
}

/** The entity after all concurrent changes; undefined if it is gone. */
export async function loadLocked(
  store: Pick<LifecycleStore, 'loadLocked'>,
  tx: Sql,
  id: string,
  related?: string,
): Promise<Entity | undefined> {
  return (await store.loadLocked(tx, [id], related)).get(id);
}
