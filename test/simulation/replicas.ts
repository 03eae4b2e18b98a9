import { type Principal, SCOPES, servicePrincipal } from '@kr/caller';
import {
  applyDecisionToRecords,
  findEntities,
  type LifecycleContext,
  type LifecycleDeps,
  lifecycleContext,
  lifecycleHandlers,
  notFound,
  preparePublication,
  resolveOldLocks,
} from '@kr/draft-lifecycle';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { decisionQuery } from '@kr/publication-decisions';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { changeBucket } from '../../services/files/src/buckets/change-bucket.ts';
import {
  applyDecisionToBuckets,
  finishOldPublications,
  finishPublications,
  sealBuckets,
} from '../../services/files/src/buckets/publications.ts';
import { packageKind } from '../../services/packages/src/package-kind.ts';
import { createCoordinator } from '../../services/packages/src/publish/coordinator.ts';
import { packageVersion } from '../../services/packages/src/publish/package-version.ts';
import { type ParticipantClients, participants } from '../../services/packages/src/publish/participants.ts';
import { publish } from '../../services/packages/src/publish/publish.ts';
import { resolvePublications, resumeOnce } from '../../services/packages/src/publish/resume-publications.ts';
import { recordKind } from '../../services/records/src/record-kind.ts';
import { metadataOf } from './documents.ts';
import type { MemoryConnection, MemoryTx } from './memory-database.ts';
import { memoryLifecycleStore } from './memory-lifecycle-store.ts';
import { memoryPublications } from './memory-publications.ts';
import { memorySealStore } from './memory-seal-store.ts';
import type { Server } from './network.ts';
import type {
  Entities,
  FilesHandlers,
  PackagesHandlers,
  ProcessEnvironment,
  RecordsHandlers,
} from './process-environment.ts';
import { silentLogger } from './silent-logger.ts';
import { simulated } from './simulated-kind.ts';
import type { SimulatedProcess } from './simulated-process.ts';

/** Processes of the three services, made of their production code; only what reaches outside is the simulation's. */

const OWNER: Principal = {
  userId: 'owner',
  isAdmin: false,
  scopes: SCOPES,
  grants: [],
  service: null,
  requestId: '',
};
const PACKAGES = servicePrincipal('packages', '');
const RECORDS = servicePrincipal('records', '');
const FILES = servicePrincipal('files', '');
const NO_SIGNAL = new AbortController().signal;
const ASK_RECORDS_MS = 5_000;
const PUBLISH_MS = 10_000;
const JANITOR_EVERY_MS = 2_000;
const SETTLE_SEALS_EVERY_MS = 5_000;

export function startPackages(
  world: ProcessEnvironment,
  process: SimulatedProcess,
): Server<PackagesHandlers> {
  const { trace, plan } = world;
  const connection = world.databases.packages.connect(process);
  const now = () => world.date();
  const context = lifecycleContext({
    ...ofWorld(world, connection, process),
    kind: simulated(packageKind),
    store: memoryLifecycleStore(world.tables.packages),
    // A package's own draft is decided in its own database.
    resolvePublications: async (ids) => new Map(ids.map((id) => [id, 'undecided'])),
  });
  const deps = {
    tables: world.tables.publications,
    lifecycle: world.tables.packages,
    connection,
    packageVersion: packageVersion(context),
    times: plan.times,
    now,
    newId: world.newUuid,
  };
  const publications = memoryPublications(deps);
  const { variation } = plan;
  const decisions = variation.decisions?.(publications) ?? publications.decisions;
  const built = participants(participantClients(world, process), { ...plan.times, rpcDeadlineMs: 5_000 });
  const coordinator = createCoordinator(
    {
      now,
      sleep: (ms) => process.sleep(ms),
      publications: variation.log?.(publications, deps) ?? publications.log,
      participants: variation.participants?.(built) ?? built,
      onFact: ({ fact }) => trace.count(`publications ${fact}`),
    },
    plan.limits,
  );
  const handler = publish({
    coordinator,
    checkPublishAccess: {
      async package(id) {
        const entity = (await findEntities(context, [id])).get(id);
        return entity?.draft ? {} : { noDraftError: notFound() };
      },
      async record(id) {
        try {
          await world.call(process, 'records', 'authorise', (records) => records.authorisePublish(id));
          return {};
        } catch (error) {
          if (error instanceof ServiceError && error.kind === 'not_found') return { noDraftError: error };
          throw error;
        }
      },
    },
    begin: { package: publications.beginPackage, record: publications.beginRecord },
    findOwnCommitted: publications.findOwnCommitted,
    onBegun: () => trace.count('publications started'),
  });
  const resolve = resolvePublications({
    decisions,
    now,
    onUnknown: (id) => trace.violation(`publication ${id} is not known to its coordinator`),
  });

  keepDoing(world, process, plan.scanEveryMs, () =>
    resumeOnce({
      decisions,
      coordinator,
      now,
      onResumed: ({ state }) => trace.count(`publications taken over while ${state}`),
    }),
  );
  return {
    process,
    handlers: {
      ...entities(context, context),
      resolve,
      async publish(subject, id) {
        const deadline = new Date(world.date().getTime() + PUBLISH_MS);
        const name = subject === 'package' ? 'SUBJECT_PACKAGE' : 'SUBJECT_RECORD';
        const call = { ...callOf(OWNER), deadline };
        const { publicationId } = await handler({ subject: name, id, ifRevision: '0' }, call);
        return publicationId ?? '';
      },
    },
  };
}

export function startRecords(world: ProcessEnvironment, process: SimulatedProcess): Server<RecordsHandlers> {
  const { variation, partBytes } = world.plan;
  const query = decisionQuery(
    {
      resolvePublications: (request, _principal, options) =>
        world.call(
          process,
          'packages',
          'resolve',
          async (packages) => received(await packages.resolve(received(request), callOf(RECORDS))),
          options?.timeoutMs,
        ),
    },
    'records',
  );
  const deps: LifecycleDeps = {
    ...ofWorld(world, world.databases.records.connect(process), process),
    kind: simulated(recordKind),
    store: memoryLifecycleStore(world.tables.records),
    resolvePublications: query,
  };
  const context = lifecycleContext(deps);
  const contextWith = (other: typeof query | undefined) =>
    other === undefined ? context : lifecycleContext({ ...deps, resolvePublications: other });
  const reading = contextWith(variation.readersAsk?.(query, world.time));
  const tidying = contextWith(variation.janitorAsks?.(query));
  const editing =
    variation.editStore === undefined ? context : { ...context, store: variation.editStore(deps.store) };
  const { Authorise } = lifecycleHandlers(context);

  keepDoing(world, process, JANITOR_EVERY_MS, () => resolveOldLocks(tidying, JANITOR_EVERY_MS));
  return {
    process,
    handlers: {
      ...entities(reading, editing),
      prepare: preparePublication(context, partBytes),
      decide: applyDecisionToRecords(context),
      async authorisePublish(id) {
        await Authorise({ id, form: 'FORM_DRAFT', action: 'publish' }, callOf(OWNER));
      },
    },
  };
}

export function startFiles(world: ProcessEnvironment, process: SimulatedProcess): Server<FilesHandlers> {
  const { trace } = world;
  const tables = world.tables.files;
  const database = world.databases.files.connect(process);
  const seals = memorySealStore(tables);
  const basics = {
    database,
    seals,
    now: () => world.date(),
    newId: world.newUuid,
    logger: silentLogger(trace, 'error'),
  };
  const finish = finishPublications({
    ...basics,
    publications: {
      resolvePublications: (request, _principal, options) =>
        world.call(
          process,
          'packages',
          'resolve',
          async (packages) => received(await packages.resolve(received(request), callOf(FILES))),
          options?.timeoutMs,
        ),
    },
  });
  const deps = { ...basics, finishPublications: finish, nudgeRelay: () => undefined };

  keepDoing(world, process, SETTLE_SEALS_EVERY_MS, () => finishOldPublications(deps));
  return {
    process,
    handlers: {
      seal: sealBuckets(deps),
      decide: applyDecisionToBuckets(deps),
      async count(entityIds) {
        const found = await seals.describeEntities(database, entityIds);
        return new Map(found.map((one) => [one.entityId, one]));
      },
      add: (entityId, key) =>
        changeBucket(deps, entityId, async (sql) => {
          const tx = sql as MemoryTx;
          await tx.step();
          const bucket = tx.get(tables.buckets, entityId);
          if (bucket !== undefined)
            tx.set(tables.buckets, entityId, { ...bucket, keys: [...bucket.keys, key] });
        }),
    },
  };
}

function entities(reading: LifecycleContext, editing: LifecycleContext): Entities {
  const { UpdateDraft, EditPublished } = lifecycleHandlers(editing);
  return {
    async readPublished(id) {
      const published = (await findEntities(reading, [id])).get(id)?.published;
      if (!published) throw notFound();
      return published.revision;
    },
    async readDraft(id) {
      const draft = (await findEntities(reading, [id])).get(id)?.draft;
      if (!draft) throw notFound();
      return { revision: draft.revision, title: String(draft.document.metadata['title']) };
    },
    async update(id, revision, title) {
      const body = { metadata: metadataOf(title), files: { enabled: editing.kind.name === 'record' } };
      await UpdateDraft(
        { id, ifRevision: String(revision), body: Buffer.from(JSON.stringify(body)) },
        callOf(OWNER),
      );
    },
    async edit(id) {
      await EditPublished({ id, ifRevision: '0' }, callOf(OWNER));
    },
  };
}

/** The files and records services as the coordinator reaches them. */
function participantClients(world: ProcessEnvironment, process: SimulatedProcess): ParticipantClients {
  const call = callOf(PACKAGES);
  return {
    // No package of the simulation is restricted.
    restrictManagedDrafts: async () => {},
    files: {
      sealBuckets: (request, _principal, options) =>
        world.call(
          process,
          'files',
          'seal',
          async (files) => received({ blockedBy: '', ...(await files.seal(received(request), call)) }),
          options?.timeoutMs,
        ),
      applyDecisionToBuckets: (request, _principal, options) =>
        world.call(
          process,
          'files',
          'decide',
          async (files) => received(await files.decide(received(request), call)),
          options?.timeoutMs,
        ),
    },
    records: {
      preparePublication: (request, _principal, options) =>
        world.call(
          process,
          'records',
          'prepare',
          async (records) =>
            received({
              blockedBy: '',
              issues: [],
              stagedIds: [],
              unchangedIds: [],
              remainingIds: [],
              bytes: '0',
              ...(await records.prepare(received(request), call)),
            }),
          options?.timeoutMs,
        ),
      applyDecisionToRecords: (request, _principal, options) =>
        world.call(
          process,
          'records',
          'decide',
          async (records) => received(await records.decide(received(request), call)),
          options?.timeoutMs,
        ),
    },
  };
}

function ofWorld(world: ProcessEnvironment, database: MemoryConnection, process: SimulatedProcess) {
  return {
    database,
    now: () => world.date(),
    newId: world.newUuid,
    vocabularies: RELEASED_VOCABULARIES,
    doiPrefix: '10.5072',
    oaiPrefix: 'repository.test',
    ticketKeys: { files: '', 'access-links': '' },
    describeBuckets: (ids: readonly string[]) =>
      world.call(process, 'files', 'count', (files) => files.count(ids), ASK_RECORDS_MS),
    findIdsOfOtherKind: async () => new Set<string>(),
    ownerLimits: { maxDrafts: 1_000, maxMetadataBytes: 1_000_000_000 },
    findDoisOfOtherKind: async () => new Set<string>(),
    wakeRelay: () => undefined,
    waitUntilRelayed: async () => true,
    logger: silentLogger(world.trace, 'fatal'),
  };
}

/** As the wire would make it: the fields that handlers set are the fields that their callers read. */
function received<Output>(message: unknown): Output {
  return message as Output;
}

function callOf(principal: Principal): CallContext {
  return { principal, signal: NO_SIGNAL, deadline: new Date(0), method: '' };
}

function keepDoing(
  { trace }: ProcessEnvironment,
  process: SimulatedProcess,
  everyMs: number,
  run: () => Promise<void>,
): void {
  const again = async (): Promise<void> => {
    while (process.isAlive) {
      await run().catch(() => trace.count('chores that failed'));
      await process.sleep(everyMs);
    }
  };
  void again();
}
