import { MIGRATIONS as AUDIT_TRAIL, type AuditEntry } from '@kr/audit-trail';
import { openPool, quickDatabase, type Sql, type SqlDatabase, statementNames } from '@kr/database';
import {
  type ChangeLog,
  type Entity,
  MIGRATIONS as LIFECYCLE,
  type LifecycleStore,
  newDraft,
  type StagedForm,
  type StoredDocument,
  type StoredParticipation,
  sqlLifecycleStore,
} from '@kr/draft-lifecycle';
import { MIGRATIONS as EVENT_BUS, newEvent } from '@kr/event-bus';
import { migrate } from '@kr/schema-migration';
import { freshDatabase } from '@kr/testbed';
import type { Chance } from '../chance.ts';
import { addDraft, addPublished, documentOf } from '../documents.ts';
import { LifecycleTables, memoryLifecycleStore } from '../memory-lifecycle-store.ts';
import { ACTOR } from './actor.ts';
import { contention, holdDraft } from './contention.ts';
import { calmMemory, resultOf, type Twin, type Twins } from './twins.ts';

const IDS = ['draft-1', 'draft-2', 'published-1', 'published-2'];
/** A draft that no command is about. */
const HELD = 'draft-held';
const PUBLICATIONS = ['x1', 'x2', 'x3'];
const COMMANDS = [
  'writeVote',
  'revealStaged',
  'dropStaged',
  'revealDraft',
  'unlockDrafts',
  'replaceUnchanged',
  'insertDraft',
  'preparedBefore',
  'deleteEnded',
  'appendChangeLog',
] as const;

interface Command {
  readonly name: (typeof COMMANDS)[number];
  readonly publicationId: string;
  readonly ids: readonly string[];
  readonly id: string;
  /** For documents, states and revisions. */
  readonly number: number;
  readonly at: Date;
  readonly isRolledBack: boolean;
}

interface LifecycleTwin {
  readonly database: SqlDatabase;
  readonly store: LifecycleStore;
  events(): Promise<readonly string[]>;
  trail(): Promise<readonly string[]>;
}

export async function lifecycleTwins(): Promise<Twins> {
  const at = new Date(Date.UTC(2026, 0, 1));
  const tables = new LifecycleTables();
  for (const id of [...IDS, HELD]) {
    const entity = { id, parentId: `parent of ${id}`, kind: 'record', at } as const;
    if (id.startsWith('draft')) addDraft(tables, { ...entity, managedBy: null });
    else addPublished(tables, entity);
  }
  const memory = calmMemory();
  const inMemory = twin({
    database: memory.connection,
    store: memoryLifecycleStore(tables),
    events: async () => [...tables.outbox.rows.values()].map(wordsOf),
    trail: async () => [...tables.trail.rows.values()].map(entryWords),
  });

  const fresh = await freshDatabase();
  await migrate({ databaseUrl: fresh.url, sets: [EVENT_BUS, AUDIT_TRAIL, LIFECYCLE] });
  const pool = openPool(new URL(fresh.url));
  const sql = quickDatabase(pool, statementNames());
  await copyEntities(sql, tables);
  const onSql = twin({
    database: sql,
    store: sqlLifecycleStore,
    async events() {
      const rows = await sql.$queryRawUnsafe<{ subject: string; aggregateId: string; revision: bigint }[]>(
        'select subject, aggregate_id as "aggregateId", revision from outbox order by id',
      );
      return rows.map(wordsOf);
    },
    async trail() {
      const rows = await sql.$queryRawUnsafe<Pick<AuditEntry, 'action' | 'entityId' | 'metadata'>[]>(
        'select action, entity_id as "entityId", metadata from audit_entry order by position',
      );
      return rows.map(entryWords);
    },
  });

  let clock = at.getTime();
  return {
    commands: COMMANDS,
    async next(choose) {
      clock += 1 + choose.below(5_000);
      const command = commandBy(choose, new Date(clock));
      const { name, id, ids, publicationId, isRolledBack } = command;
      return {
        words: `${name} ${publicationId} ${id} [${ids}]${isRolledBack ? ', rolled back' : ''}`,
        ofMemory: await memory.inTime(() => resultOf(inMemory, command)),
        ofSql: await resultOf(onSql, command),
      };
    },
    contend: () =>
      contention({
        memory,
        sql,
        holding: {
          memory: (then) =>
            memory.connection.$transaction(async (tx) => {
              await memoryLifecycleStore(tables).loadLocked(tx, HELD);
              await then();
              await holdDraft(memoryLifecycleStore(tables), tx, HELD);
            }),
          sql: (then) =>
            sql.$transaction(async (tx) => {
              await sqlLifecycleStore.loadLocked(tx, HELD);
              await then();
              await holdDraft(sqlLifecycleStore, tx, HELD);
            }),
        },
        waiting: {
          memory: () => readLocked(memory.connection, memoryLifecycleStore(tables)),
          sql: () => readLocked(sql, sqlLifecycleStore),
        },
        expected: 'held',
      }),
    async close() {
      await pool.end();
      await fresh.drop();
    },
  };
}

function readLocked(database: SqlDatabase, store: LifecycleStore): Promise<unknown> {
  return database.$transaction(async (tx) => {
    return (await store.loadLocked(tx, HELD))?.draft?.lockedBy;
  });
}

function commandBy(choose: Chance, at: Date): Command {
  return {
    name: choose.oneOf(COMMANDS),
    publicationId: choose.oneOf(PUBLICATIONS),
    ids: IDS.filter(() => choose.onceIn(2)),
    id: choose.oneOf(IDS),
    number: choose.below(12),
    at,
    isRolledBack: choose.onceIn(6),
  };
}

function twin({ database, store, events, trail }: LifecycleTwin): Twin<Command> {
  const act = async (tx: Sql, { name, publicationId, ids, id, number, at }: Command): Promise<unknown> => {
    const document = documentOf('record');
    switch (name) {
      case 'writeVote': {
        const wanted = { publicationId, packageParentId: number % 2 === 0 ? '' : 'package', ids };
        // Sizes differ a little from twin to twin: one draft is too much, or all are not.
        const maxBytes = number % 3 === 0 ? null : number % 3 === 1 ? 1 : 1_000_000;
        const { former, candidates, remainingIds } = await store.lockForVote(tx, wanted, maxBytes);
        const forms = ids.map((one) => ({
          id: one,
          publishedParts: publishedPartsOf(document),
          revision: number,
        }));
        await store.writeVote(tx, participantOf(publicationId, ids, number), forms, at);
        return { former, candidates: ids.map((one) => candidates.get(one)), remainingIds };
      }
      case 'revealStaged':
        await store.lockPublicationAndEntities(tx, publicationId);
        return store.revealStaged(tx, publicationId, at);
      case 'dropStaged':
        await store.lockPublicationAndEntities(tx, publicationId);
        return store.dropStaged(tx, publicationId, at);
      case 'revealDraft': {
        const form = { id, publishedParts: publishedPartsOf(document), revision: number };
        return store.revealDraft(tx, publicationId, form, changeLogOf([id], number), at);
      }
      case 'unlockDrafts':
        return store.unlockDrafts(tx, publicationId);
      case 'replaceUnchanged': {
        const entity = (await store.loadEntities(tx, [id])).get(id);
        if (entity === undefined) return 'there is none';
        const revision = (number < 9 ? (entity.draft?.revision ?? 1) : number) + 1;
        const saved = {
          ...entity,
          draft: { ...newDraft(document, revision, at), restrictionRevision: number },
        };
        return store.replaceUnchanged(database, saved, changeLogOf([id], number));
      }
      case 'insertDraft': {
        const entity = (await store.loadEntities(tx, [id])).get(id);
        if (entity === undefined || entity.draft !== null) return 'there is one';
        return store.insertDraft(tx, { id, revision: entity.nextDraftRevision, document }, at);
      }
      case 'preparedBefore':
        return store.preparedBefore(database, new Date(at.getTime() - number * 1_000), 1 + (number % 3));
      case 'deleteEnded':
        return store.deleteEnded(database, new Date(at.getTime() - number * 1_000));
      case 'appendChangeLog':
        return store.appendChangeLog(tx, changeLogOf(ids, number));
    }
  };
  return {
    run: (command) =>
      database.$transaction(async (tx) => {
        const answer = await act(tx, command);
        if (command.isRolledBack) throw new Error('to be rolled back');
        return answer;
      }),
    async state() {
      const entities = await store.loadEntities(database, IDS);
      const participants = await database.$transaction((tx) =>
        all(PUBLICATIONS, (id) => store.lockPublicationAndEntities(tx, id)),
      );
      return {
        entities: IDS.map((id) => plain(entities.get(id))),
        participants,
        events: await events(),
        trail: await trail(),
      };
    },
  };
}

async function all<Item, Value>(
  items: readonly Item[],
  run: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = [];
  for (const item of items) values.push(await run(item));
  return values;
}

function plain(entity: Entity | undefined): unknown {
  return entity === undefined ? null : { ...entity, pending: [...entity.pending].sort() };
}

/** Not as a draft has it. */
function publishedPartsOf({ files }: StoredDocument): StagedForm['publishedParts'] {
  return {
    files: { ...files, entries: 3, total_bytes: 30 },
    pids: { oai: { identifier: 'oai:repository.test:1', provider: 'oai' } },
  };
}

const STATES = ['prepared', 'refused', 'aborted', 'applied'] as const;

function participantOf(publicationId: string, ids: readonly string[], number: number): StoredParticipation {
  return {
    publicationId,
    state: STATES[number % STATES.length] ?? 'prepared',
    epoch: number,
    packageId: number % 2 === 0 ? '' : 'package',
    packageParentId: '',
    stagedIds: ids,
    unchangedIds: [],
    actor: number % 3 === 0 ? null : ACTOR,
    issues: number % 5 === 0 ? [{ field: 'metadata.title', messages: ['Missing.'], record: 'draft-1' }] : [],
  };
}

function changeLogOf(ids: readonly string[], revision: number): ChangeLog {
  return {
    events: ids.map((id) => eventOf(id, revision)),
    entries: ids.map((id) => ({
      action: 'draft.update',
      entityId: id,
      parentId: `parent of ${id}`,
      actor: ACTOR,
      metadata: { revision },
    })),
  };
}

function entryWords({ action, entityId, metadata }: Pick<AuditEntry, 'action' | 'entityId' | 'metadata'>) {
  return `${action} ${entityId} ${JSON.stringify(metadata)}`;
}

function eventOf(id: string, revision: number) {
  return newEvent(
    'knowledge.records.draft.saved',
    { id, parentId: `parent of ${id}`, revision },
    { aggregateId: id, revision },
  );
}

function wordsOf(event: { subject: string; aggregateId: string; revision: number | bigint }): string {
  return `${event.subject} of ${event.aggregateId} at ${event.revision}`;
}

/** The initial rows of the tables in memory. */
export async function copyEntities(sql: Sql, { parents, versions, drafts }: LifecycleTables): Promise<void> {
  for (const { id, ownerId, managedBy } of parents.rows.values()) {
    await sql.$executeRawUnsafe(
      `insert into parent (id, owner_id, managed_by, managed_at, created_at)
       values ($1, $2, $3, case when $3::text is null then null else now() end, now())`,
      id,
      ownerId,
      managedBy,
    );
  }
  for (const {
    id,
    parentId,
    versionIndex,
    document,
    revision,
    createdAt,
    updatedAt,
  } of versions.rows.values()) {
    await sql.$executeRawUnsafe(
      `insert into version (id, parent_id, version_index, visible, document, revision, created_at, updated_at)
       values ($1, $2, $3, $4::jsonb is not null, $4::jsonb, $5, $6, $7)`,
      id,
      parentId,
      versionIndex,
      document === null ? null : JSON.stringify(document),
      revision,
      createdAt,
      updatedAt,
    );
  }
  for (const { id, document, revision, createdAt, updatedAt } of drafts.rows.values()) {
    await sql.$executeRawUnsafe(
      `insert into draft (id, document, revision, created_at, updated_at) values ($1, $2::jsonb, $3, $4, $5)`,
      id,
      JSON.stringify(document),
      revision,
      createdAt,
      updatedAt,
    );
  }
}
