import { fileURLToPath } from 'node:url';
import { MIGRATIONS as AUDIT_TRAIL } from '@kr/audit-trail';
import type { Actor } from '@kr/caller';
import { openDatabase, type SqlDatabase } from '@kr/database';
import { MIGRATIONS as LIFECYCLE, type LifecycleStore, sqlLifecycleStore } from '@kr/draft-lifecycle';
import { MIGRATIONS as EVENT_BUS } from '@kr/event-bus';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { migrate } from '@kr/schema-migration';
import { freshDatabase } from '@kr/testbed';
import { packageKind } from '../../../services/packages/src/package-kind.ts';
import { abandonedPublications } from '../../../services/packages/src/publish/abandoned-publications.ts';
import { beginPackage, beginRecord } from '../../../services/packages/src/publish/begin-publication.ts';
import { packageVersion } from '../../../services/packages/src/publish/package-version.ts';
import type { Publication, Refusal } from '../../../services/packages/src/publish/publication.ts';
import { publicationStore } from '../../../services/packages/src/publish/publication-store.ts';
import { findOwnCommitted } from '../../../services/packages/src/publish/publish.ts';
import type { Chance } from '../chance.ts';
import { addDraft, documentOf } from '../documents.ts';
import { LifecycleTables, memoryLifecycleStore } from '../memory-lifecycle-store.ts';
import { memoryPublications, type Publications, PublicationTables } from '../memory-publications.ts';
import { simulated } from '../simulated-kind.ts';
import { ACTOR } from './actor.ts';
import { contention, holdDraft } from './contention.ts';
import { copyEntities } from './lifecycle-commands.ts';
import { calmMemory, resultOf, type Twin, type Twins } from './twins.ts';

const PACKAGES_MIGRATIONS = {
  name: 'packages',
  directory: fileURLToPath(new URL('../../../services/packages/migrations', import.meta.url)),
};
const PACKAGES = ['package-1', 'package-2'];
const RESOURCES = ['resource-1', 'resource-2'];
const TIMES = { leaseMs: 3_000, deadlineMs: 8_000 };
const REFUSAL: Refusal = {
  kind: 'not_publishable',
  message: 'No.',
  issues: [{ field: 'id', messages: ['No.'] }],
};
const COMMANDS = [
  'beginPackage',
  'beginSeenPackage',
  'beginRecord',
  'renew',
  'commit',
  'abort',
  'read',
  'finish',
  'postpone',
  'readAfterDeadlines',
  'insertTombstones',
  'claim',
  'findOwnCommitted',
  'editPackage',
] as const;

interface Command {
  readonly name: (typeof COMMANDS)[number];
  readonly packageId: string;
  readonly resourceId: string;
  readonly requestedBy: string;
  readonly actor: Actor;
  readonly ifRevision: number;
  /** One that was answered before, perhaps by an owner whose time is over. */
  readonly publication: Publication | undefined;
  readonly newId: string;
  readonly now: Date;
}

interface PublicationTwin {
  readonly publications: Publications;
  readonly database: SqlDatabase;
  readonly store: LifecycleStore;
}

export async function publicationTwins(): Promise<Twins> {
  const clock = { now: new Date(Date.UTC(2026, 0, 1)), newId: '' };
  const now = () => clock.now;
  const newId = () => clock.newId;
  const lifecycle = new LifecycleTables();
  for (const id of [...PACKAGES, HELD]) {
    addDraft(lifecycle, { id, parentId: `parent of ${id}`, managedBy: null, kind: 'package', at: clock.now });
  }

  const memory = calmMemory();
  const { connection } = memory;
  const tables = new PublicationTables();
  for (const id of PACKAGES) tables.resources.rows.set(id, RESOURCES);
  const memoryStore = memoryLifecycleStore(lifecycle);
  const ofKind = {
    oaiPrefix: 'test',
    vocabularies: RELEASED_VOCABULARIES,
    now,
    findDoisOfOtherKind: async () => new Set<string>(),
  };
  const inMemory = twin({
    publications: memoryPublications({
      tables,
      lifecycle,
      connection,
      packageVersion: packageVersion({
        ...ofKind,
        database: connection,
        kind: simulated(packageKind),
        store: memoryStore,
      }),
      times: TIMES,
      now,
      newId,
    }),
    database: connection,
    store: memoryStore,
  });

  const fresh = await freshDatabase();
  await migrate({ databaseUrl: fresh.url, sets: [EVENT_BUS, AUDIT_TRAIL, LIFECYCLE, PACKAGES_MIGRATIONS] });
  const database = openDatabase(new URL(fresh.url));
  await copyEntities(database, lifecycle);
  for (const packageId of PACKAGES) {
    await database.$executeRawUnsafe(
      `insert into package_resource (package_id, resource_id, position)
       select $1, id, position from unnest($2::text[]) with ordinality as resource(id, position)`,
      packageId,
      RESOURCES,
    );
  }
  const ownVersion = packageVersion({ ...ofKind, database, kind: packageKind, store: sqlLifecycleStore });
  const onExpired = () => undefined;
  const deps = { database, packageVersion: ownVersion, times: TIMES, now, newId, onExpired };
  const onSql = twin({
    publications: {
      beginPackage: (id, options, seen) => beginPackage(deps, id, options, seen),
      beginRecord: (id, options) => beginRecord(deps, id, options),
      findOwnCommitted: (id, requestedBy) => findOwnCommitted(database, id, requestedBy),
      log: publicationStore(deps),
      decisions: abandonedPublications(deps),
    },
    database,
    store: sqlLifecycleStore,
  });

  const known: Publication[] = [];
  let ids = 0;
  return {
    commands: COMMANDS,
    async next(choose) {
      ids += 1;
      clock.now = new Date(clock.now.getTime() + 1 + choose.below(2_500));
      clock.newId = `00000000-0000-7000-8000-${String(ids).padStart(12, '0')}`;
      const command = commandBy(choose, known, clock);
      const ofMemory = await memory.inTime(() => resultOf(inMemory, command));
      const ofSql = await resultOf(onSql, command);
      known.push(...published(ofSql.answer));
      const { name, packageId, resourceId, publication } = command;
      const of = publication === undefined ? '' : ` of epoch ${publication.epoch} of ${publication.id}`;
      return { words: `${name} ${packageId} ${resourceId}${of}`, ofMemory, ofSql };
    },
    contend: () =>
      contention({
        memory,
        sql: database,
        holding: {
          memory: (then) => whileHolding(connection, memoryStore, then),
          sql: (then) => whileHolding(database, sqlLifecycleStore, then),
        },
        waiting: { memory: () => inMemory.beginHeld(), sql: () => onSql.beginHeld() },
        expected: { kind: 'joined', publicationId: 'held' },
      }),
    async close() {
      await database.close();
      await fresh.drop();
    },
  };
}

/** A package that no command is about. */
const HELD = 'package-3';
const MORE_THAN_THERE_ARE = 1_000;

function whileHolding(
  database: SqlDatabase,
  store: LifecycleStore,
  then: () => Promise<void>,
): Promise<void> {
  return database.$transaction(async (tx) => {
    await store.loadLocked(tx, HELD);
    await then();
    await holdDraft(store, tx, HELD);
  });
}

function commandBy(
  choose: Chance,
  known: readonly Publication[],
  { now, newId }: { now: Date; newId: string },
): Command {
  // Mostly the latest, or most commands would be those of owners whose time is over.
  const recent = choose.onceIn(3) ? known : known.slice(-3);
  const isAboutOne = known.length > 0;
  return {
    name: choose.oneOf(COMMANDS),
    packageId: choose.oneOf(PACKAGES),
    resourceId: choose.oneOf(RESOURCES),
    requestedBy: choose.oneOf(['user:1', 'user:2']),
    actor: ACTOR,
    ifRevision: choose.onceIn(5) ? 1 : 0,
    publication: isAboutOne ? choose.oneOf(recent) : undefined,
    newId,
    now,
  };
}

/** The publications in an answer, parsed from JSON. */
function published(answer: unknown): Publication[] {
  if (Array.isArray(answer)) return answer.flatMap(published);
  if (typeof answer !== 'object' || answer === null) return [];
  if ('publication' in answer) return published(answer.publication);
  if (!('epoch' in answer && 'leaseUntil' in answer)) return [];
  const one = answer as Publication;
  const { leaseUntil, deadline, decidedAt } = one;
  return [
    {
      ...one,
      leaseUntil: new Date(leaseUntil),
      deadline: new Date(deadline),
      decidedAt: decidedAt === null ? null : new Date(decidedAt),
    },
  ];
}

function twin({
  publications,
  database,
  store,
}: PublicationTwin): Twin<Command> & { beginHeld(): Promise<unknown> } {
  const { log, decisions } = publications;
  const byId = (rows: readonly Publication[]) => rows.map(plain).sort((a, b) => (a.id < b.id ? -1 : 1));
  const result = async (running: ReturnType<Publications['beginPackage']>): Promise<unknown> => {
    const result = await running;
    return result.kind === 'begun' ? { ...result, publication: plain(result.publication) } : result;
  };
  const act = async (command: Command): Promise<unknown> => {
    const { name, packageId, resourceId, publication, now, newId } = command;
    switch (name) {
      case 'beginPackage':
        return result(publications.beginPackage(packageId, command));
      case 'beginSeenPackage': {
        // As it was before others changed it, locked it or published it, or as it is.
        const entity = (await store.loadEntities(database, [packageId])).get(packageId);
        const revision = (entity?.draft?.revision ?? 1) - (command.ifRevision === 0 ? 0 : 1);
        const resourceIds = entity?.published === null ? RESOURCES : [];
        const seen = { parentId: `parent of ${packageId}`, revision, lockedBy: null, resourceIds };
        return result(publications.beginPackage(packageId, { ...command, ifRevision: 0 }, seen));
      }
      case 'beginRecord':
        return result(publications.beginRecord(resourceId, command));
      case 'findOwnCommitted':
        return publications.findOwnCommitted(packageId, command.requestedBy);
      case 'insertTombstones':
        return decisions.insertTombstones([newId, publication?.id ?? newId], now);
      case 'claim':
        // More than exist, because the order of equal leases is undefined.
        return byId(await decisions.claim(MORE_THAN_THERE_ARE, now));
      case 'editPackage':
        return database.$transaction(async (tx) => {
          const entity = (await store.loadEntities(tx, [packageId])).get(packageId);
          if (entity === undefined || entity.draft !== null) return 'there is one';
          const draft = {
            id: packageId,
            revision: entity.nextDraftRevision,
            document: documentOf('package'),
          };
          return store.insertDraft(tx, draft, now);
        });
    }
    if (publication === undefined) return 'nothing to do it with';
    switch (name) {
      case 'renew': {
        const { isRenewed, publication: renewed } = await log.renew(publication, now);
        return { isRenewed, publication: plain(renewed) };
      }
      case 'commit':
        return plain(await log.commit(publication, publication.resourceIds, [], now));
      case 'abort':
        return plain(await log.abort(publication, REFUSAL, now));
      case 'read':
        return [await log.read(publication.id)].map((row) => (row === undefined ? null : plain(row)));
      case 'finish':
        return isDecided(publication) ? log.finish(publication, now) : 'not what an owner does';
      case 'postpone':
        return log.postpone(publication, ['files'], now);
      case 'readAfterDeadlines':
        return byId(await decisions.readAfterDeadlines([publication.id, newId], now));
      default:
        return name satisfies never;
    }
  };
  const seen = new Set<string>();
  return {
    async run(command) {
      seen.add(command.newId);
      return act(command);
    },
    async state() {
      const rows = [];
      for (const id of [...seen].slice(-25)) rows.push(await log.read(id));
      const entities = await store.loadEntities(database, PACKAGES);
      return {
        publications: rows.flatMap((row) => (row === undefined ? [] : plain(row))),
        entities: PACKAGES.map((id) => entities.get(id)),
      };
    },
    beginHeld: () => publications.beginPackage(HELD, { requestedBy: 'user:1', actor: ACTOR, ifRevision: 0 }),
  };
}

function isDecided({ state }: Publication): boolean {
  return state === 'COMMITTED' || state === 'ABORTED';
}

/** Without what only one of the two keeps beside it. */
function plain(publication: Publication): Omit<Publication, 'createdAt'> {
  const { createdAt: _, ...rest } = publication as Publication & { createdAt?: Date };
  return rest;
}
