import { randomUUID } from 'node:crypto';
import type { AuditEntry } from '@kr/audit-trail';
import {
  type Candidate,
  type ChangeLog,
  type DraftForm,
  type Entity,
  type LifecycleStore,
  newDraft,
  type StoredDocument,
  type StoredParticipation,
} from '@kr/draft-lifecycle';
import type { OutboxEvent } from '@kr/event-bus';
import { type MemoryConnection, type MemoryTx, type Reader, Table } from './memory-database.ts';

export interface ParentRow {
  readonly id: string;
  readonly ownerId: string;
  readonly managedBy: string | null;
}

export interface VersionRow {
  readonly id: string;
  readonly parentId: string;
  readonly versionIndex: number;
  readonly document: StoredDocument | null;
  readonly revision: number;
  readonly draftRevision: number;
  readonly createdAt: Date | null;
  readonly updatedAt: Date | null;
  readonly staged: {
    readonly publicationId: string;
    readonly document: StoredDocument;
    readonly revision: number;
    readonly at: Date;
  } | null;
}

export interface DraftRow extends Readonly<DraftForm> {
  readonly id: string;
}

export interface ParticipantRow extends StoredParticipation {
  readonly updatedAt: Date;
}

/** The lifecycle's tables of one service. */
export class LifecycleTables {
  readonly parents = new Table<ParentRow>('parent');
  readonly versions = new Table<VersionRow>('version');
  readonly drafts = new Table<DraftRow>('draft');
  readonly participants = new Table<ParticipantRow>('participant');
  readonly outbox = new Table<OutboxEvent>('outbox');
  /** By the order of writing. */
  readonly trail = new Table<AuditEntry>('audit_entry');
}

const BRIEF_MS = 2_000;

/** The twin of `sqlLifecycleStore`: the contract tests of both are the same. */
export function memoryLifecycleStore(tables: LifecycleTables): LifecycleStore {
  const { versions, drafts, participants, outbox, trail } = tables;

  const write = (tx: MemoryTx, { events, entries }: ChangeLog): void => {
    for (const event of events) tx.set(outbox, event.eventId, event);
    for (const entry of entries) tx.set(trail, randomUUID(), entry);
  };

  const lockVersions = async (tx: MemoryTx, ids: Iterable<string>): Promise<void> => {
    for (const id of [...new Set(ids)].sort()) await tx.lock(`version ${id}`);
  };
  const staged = (tx: MemoryTx, publicationId: string): VersionRow[] =>
    [...tx.all(versions)].filter((row) => row.staged?.publicationId === publicationId);

  const remember = (
    tx: MemoryTx,
    participant: StoredParticipation,
    state: StoredParticipation['state'],
    at: Date,
  ): void => tx.set(participants, participant.publicationId, { ...participant, state, updatedAt: at });

  const unlockDrafts = async (tx: MemoryTx, publicationId: string): Promise<void> => {
    await tx.step();
    for (const { id } of [...tx.all(drafts)].filter(({ lockedBy }) => lockedBy === publicationId)) {
      await tx.lock(`draft ${id}`);
      const draft = tx.get(drafts, id);
      if (draft?.lockedBy === publicationId) tx.set(drafts, id, { ...draft, lockedBy: null });
    }
  };

  const lockParticipant = async (
    tx: MemoryTx,
    publicationId: string,
    ids: readonly string[] = [],
  ): Promise<StoredParticipation | null> => {
    tx.lockTimeoutMs = BRIEF_MS;
    await tx.step();
    await tx.lock(`publication ${publicationId}`);
    await tx.step();
    const known = ids.filter((id) => tx.get(versions, id) !== undefined);
    await lockVersions(tx, [...known, ...staged(tx, publicationId).map(({ id }) => id)]);
    const row = tx.get(participants, publicationId);
    if (row === undefined) return null;
    const { updatedAt: _, ...participant } = row;
    return participant;
  };

  const loadEntities = async (
    reader: Reader,
    ids: readonly string[],
    related?: string,
  ): Promise<Map<string, Entity>> => {
    if (ids.length === 0) return new Map();
    await reader.step();
    // Relations of records and packages are in tables of their services.
    const relations = related === undefined ? {} : { related: { draft: [], published: [] } };
    const found = ids.map((id) => entityOf(tables, reader, id));
    return new Map(
      found.flatMap((entity) => (entity === undefined ? [] : [[entity.id, { ...entity, ...relations }]])),
    );
  };

  return {
    lockPublicationAndEntities: lockParticipant,

    async lockForVote(tx: MemoryTx, { publicationId, packageParentId, ids }, maxBytes) {
      const former = await lockParticipant(tx, publicationId, ids);
      const entities = await loadEntities(tx as unknown as Reader, ids);
      const candidates = new Map(
        [...entities].map(([id, entity]) => [id, candidateOf(entity, packageParentId !== '')]),
      );
      if (maxBytes === null) return { former, candidates, remainingIds: [], bytes: 0 };
      let bytes = 0;
      let taken = 0;
      for (; taken < ids.length && bytes < maxBytes; taken += 1) {
        const draft = candidates.get(ids[taken] ?? '')?.draft;
        bytes += draft ? JSON.stringify(draft.document).length : 0;
      }
      const remainingIds = ids.slice(taken);
      for (const id of remainingIds) candidates.delete(id);
      return { former, candidates, remainingIds, bytes };
    },

    async preparedBefore(sql, at, limit) {
      const reader = sql as unknown as Reader;
      await reader.step();
      return [...reader.all(participants)]
        .filter(({ state, updatedAt }) => state === 'prepared' && updatedAt < at)
        .sort((a, b) => a.updatedAt.getTime() - b.updatedAt.getTime())
        .slice(0, limit)
        .map(({ publicationId }) => publicationId);
    },

    deleteEnded: (sql: MemoryConnection, before) =>
      sql.$transaction(async (tx) => {
        for (const row of [...tx.all(participants)]) {
          if (row.state !== 'prepared' && row.updatedAt < before)
            tx.set(participants, row.publicationId, undefined);
        }
      }),

    async loadLocked(tx: MemoryTx, id, related) {
      await tx.step();
      await lockVersions(tx, tx.get(versions, id) === undefined ? [] : [id]);
      return (await loadEntities(tx as unknown as Reader, [id], related)).get(id);
    },

    loadEntities: (sql, ids, related) => loadEntities(sql as unknown as Reader, ids, related),

    async writeVote(tx: MemoryTx, vote, forms, at) {
      const { publicationId } = vote;
      await tx.step();
      tx.set(participants, publicationId, { ...vote, updatedAt: at });
      await lockVersions(
        tx,
        forms.map(({ id }) => id),
      );
      for (const { id, publishedParts: sealed, revision } of forms) {
        const row = tx.get(versions, id);
        const draft = tx.get(drafts, id);
        if (row === undefined || draft === undefined) continue;
        const document = { ...draft.document, ...sealed };
        tx.set(versions, id, { ...row, staged: { publicationId, document, revision, at } });
      }
      for (const { id } of [...forms].sort((a, b) => (a.id < b.id ? -1 : 1))) {
        await tx.lock(`draft ${id}`);
        const draft = tx.get(drafts, id);
        if (draft !== undefined) tx.set(drafts, id, { ...draft, lockedBy: publicationId });
      }
    },

    async revealStaged(tx: MemoryTx, publicationId, at) {
      await tx.step();
      const participant = tx.get(participants, publicationId);
      if (participant !== undefined) remember(tx, participant, 'applied', at);
      await lockVersions(
        tx,
        staged(tx, publicationId).map(({ id }) => id),
      );
      const shown = staged(tx, publicationId).map((row): VersionRow => {
        if (row.staged === null) return row;
        const { document, revision, at } = row.staged;
        const draft = tx.get(drafts, row.id);
        return {
          ...row,
          document,
          revision: Math.max(row.revision + 1, revision, (draft?.revision ?? 0) + 1),
          createdAt: row.createdAt ?? at,
          updatedAt: at,
          staged: null,
        };
      });
      for (const row of shown) tx.set(versions, row.id, row);
      for (const { id } of [...tx.all(drafts)].filter(({ lockedBy }) => lockedBy === publicationId)) {
        tx.set(drafts, id, undefined);
      }
      return shown
        .map(({ id, parentId, revision }) => ({ id, parentId, revision, formerLatestId: null }))
        .sort((a, b) => (a.id < b.id ? -1 : 1));
    },

    async dropStaged(tx: MemoryTx, publicationId, at) {
      await tx.step();
      remember(tx, tx.get(participants, publicationId) ?? unheardOf(publicationId), 'aborted', at);
      await lockVersions(
        tx,
        staged(tx, publicationId).map(({ id }) => id),
      );
      for (const row of staged(tx, publicationId)) tx.set(versions, row.id, { ...row, staged: null });
      await unlockDrafts(tx, publicationId);
    },

    async revealDraft(tx: MemoryTx, publicationId, { id, publishedParts: sealed, revision }, log, at) {
      await tx.step();
      await lockVersions(tx, [id]);
      const row = tx.get(versions, id);
      const draft = tx.get(drafts, id);
      if (row === undefined || draft === undefined) return;
      const createdAt = row.createdAt ?? at;
      const document = { ...draft.document, ...sealed };
      tx.set(versions, id, { ...row, document, revision, createdAt, updatedAt: at });
      if (draft.lockedBy === publicationId) tx.set(drafts, id, undefined);
      write(tx, log);
    },

    unlockDrafts,

    replaceUnchanged: (sql: MemoryConnection | MemoryTx, { id, draft: next }, log) => {
      const replace = async (tx: MemoryTx) => {
        await lockVersions(tx, [id]);
        const draft = tx.get(drafts, id);
        if (draft?.revision !== next.revision - 1 || draft.lockedBy !== null) return false;
        tx.set(drafts, id, { ...next, id, lockedBy: null, createdAt: draft.createdAt });
        write(tx, log);
        return true;
      };
      return '$transaction' in sql ? sql.$transaction(replace) : replace(sql);
    },

    async insertDraft(tx: MemoryTx, { id, revision, document }, at) {
      await tx.step();
      tx.set(drafts, id, { id, ...newDraft(document, revision, at) });
    },

    async appendChangeLog(tx: MemoryTx, log) {
      if (log.events.length + log.entries.length === 0) return;
      await tx.step();
      write(tx, log);
    },
  };
}

function entityOf(
  { parents, versions, drafts }: LifecycleTables,
  reader: Reader,
  id: string,
): Entity | undefined {
  const version = reader.get(versions, id);
  if (version === undefined) return undefined;
  const parent = reader.get(parents, version.parentId);
  if (parent === undefined) return undefined;
  const siblings = [...reader.all(versions)].filter(({ parentId }) => parentId === version.parentId);
  const { document, revision, createdAt, updatedAt } = version;
  const draft = reader.get(drafts, id);
  return {
    id,
    versionIndex: version.versionIndex,
    parent: { ...parent, wasManaged: false, linkIds: [] },
    published:
      document === null || createdAt === null || updatedAt === null
        ? null
        : { document, revision, createdAt, updatedAt },
    draft: draft === undefined ? null : withoutId(draft),
    pending: [
      ...new Set(siblings.flatMap(({ staged }) => (staged === null ? [] : [staged.publicationId]))),
    ].sort(),
    latestIndex: Math.max(
      0,
      ...siblings.filter((one) => one.document !== null).map((one) => one.versionIndex),
    ),
    lastIndex: Math.max(...siblings.map((one) => one.versionIndex)),
    nextDraftRevision: Math.max(revision, version.draftRevision) + 1,
  };
}

/** A published resource of a package stays unchanged, and its draft is ignored. */
function candidateOf(
  { id, parent: { managedBy }, published, draft, nextDraftRevision }: Entity,
  isPackage: boolean,
): Candidate {
  return {
    id,
    parent: { managedBy },
    published: published === null ? null : { revision: published.revision },
    draft: isPackage && published !== null ? null : draft,
    nextDraftRevision,
  };
}

function unheardOf(publicationId: string): StoredParticipation {
  return {
    publicationId,
    state: 'aborted',
    epoch: 0,
    packageId: '',
    packageParentId: '',
    stagedIds: [],
    unchangedIds: [],
    issues: [],
    actor: null,
  };
}

function withoutId({ id: _, ...content }: DraftRow): NonNullable<Entity['draft']> {
  return content;
}
