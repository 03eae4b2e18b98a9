import { type Principal, SCOPES, servicePrincipal } from '@kr/caller';
import type { RemoveDeletedRecordsRequest, VersionResources__Output } from '@kr/contracts';
import { openDatabase } from '@kr/database';
import {
  applyDecisionToRecords,
  type Entity,
  lifecycleContext,
  lifecycleHandlers,
  loadEntities,
  newEntityId,
  preparePublication,
  sqlLifecycleStore,
} from '@kr/draft-lifecycle';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import type { CallContext } from '@kr/rpc';
import { migrate } from '@kr/schema-migration';
import { createLogger } from '@kr/telemetry';
import { freshDatabase } from '@kr/testbed';
import { removeFromPackages } from '../clients.ts';
import type { RecordsContext } from '../context.ts';
import { recordKind } from '../record-kind.ts';
import { SCHEMA } from '../schema.ts';

export const OWNER: Principal = {
  userId: '1',
  isAdmin: false,
  scopes: SCOPES,
  grants: [],
  service: null,
  requestId: 'q',
};
export const STRANGER: Principal = { ...OWNER, userId: '2' };
export const PACKAGES = servicePrincipal('packages');

export function callOf(principal: Principal): CallContext {
  const deadline = new Date(Date.now() + 5_000);
  return { principal, signal: new AbortController().signal, deadline, method: 'test' };
}

export const GOOD_BODY = {
  files: { enabled: false },
  metadata: {
    title: 'Flood map',
    publication_date: '2024-03-01',
    resource_type: { id: 'image-photo' },
    creators: [{ person_or_org: { type: 'personal', family_name: 'Carberry', given_name: 'Josiah' } }],
  },
};

const PART_BYTES = 4_194_304;

export type RecordsFixture = Awaited<ReturnType<typeof recordsFixture>>;

/** The record-specific part of the service on a separate database, without other services. */
export async function recordsFixture() {
  const fresh = await freshDatabase();
  await migrate({ databaseUrl: fresh.url, sets: SCHEMA });
  const database = openDatabase(new URL(fresh.url));
  const logger = createLogger('records', { write: () => undefined });
  const packageIds = new Set<string>();
  const findOtherKind = async (ids: readonly string[]) => new Set(ids.filter((id) => packageIds.has(id)));
  const removed: { ids: string[]; requestId: string }[] = [];
  const packages = {
    remove: async (ids: readonly string[], requestId: string): Promise<void> => {
      removed.push({ ids: [...ids], requestId });
    },
  };
  const removeDeletedRecords = async (
    { ids = [] }: RemoveDeletedRecordsRequest,
    { requestId }: Principal,
  ) => {
    await packages.remove(ids, requestId);
    return {};
  };
  const lifecycle = lifecycleContext({
    kind: recordKind,
    database,
    store: sqlLifecycleStore,
    now: () => new Date(),
    newId: newEntityId,
    vocabularies: RELEASED_VOCABULARIES,
    doiPrefix: '10.5072',
    oaiPrefix: 'repository.test',
    ticketKeys: { files: 'f'.repeat(32), 'access-links': 'a'.repeat(32) },
    describeBuckets: async () => new Map(),
    resolvePublications: async (ids) => new Map(ids.map((id) => [id, 'undecided'])),
    findIdsOfOtherKind: findOtherKind,
    ownerLimits: { maxDrafts: 1_000, maxMetadataBytes: 1_000_000_000 },
    findDoisOfOtherKind: async () => new Set(),
    afterDelete: removeFromPackages({ removeDeletedRecords }, logger),
    waitUntilRelayed: async () => true,
    wakeRelay: () => undefined,
    logger,
  });
  const versions: VersionResources__Output[] = [];
  const listVersionResources = async function* () {
    yield versions;
  };
  const context: RecordsContext = { ...lifecycle, findOtherKind, listVersionResources };
  const handlers = lifecycleHandlers(lifecycle);

  return {
    context,
    handlers,
    /** Packages and their parents that the packages service would know. */
    packageIds,
    /** The resource lists that the packages service has. */
    versions,
    /** The calls that the packages service received to remove deleted records. */
    removed,
    /** Replies of the packages service; tests replace it. */
    packages,
    async create(principal = OWNER): Promise<string> {
      const body = Buffer.from(JSON.stringify(GOOD_BODY));
      const { document } = await handlers.CreateDraft(
        { body, creationKey: Buffer.alloc(0) },
        callOf(principal),
      );
      return document?.id ?? '';
    },
    async update(id: string): Promise<void> {
      const body = Buffer.from(JSON.stringify(GOOD_BODY));
      await handlers.UpdateDraft({ id, body, ifRevision: '0' }, callOf(OWNER));
    },
    /** Prepares a publication that is decided with the function this answers with. */
    async prepare(ids: string[], packageId = '', packageParentId = ''): Promise<() => Promise<void>> {
      const publicationId = newEntityId();
      const to = { packageId, packageParentId, ids };
      const basics = { publicationId, epoch: 1, manifests: [], ifRevision: '0', actor: null, inParts: false };
      const request = { ...basics, ...to };
      const vote = await preparePublication(lifecycle, PART_BYTES)(request, callOf(PACKAGES));
      if (vote.isPrepared !== true) throw new Error(JSON.stringify(vote));
      return async () =>
        void (await applyDecisionToRecords(lifecycle)(
          { publicationId, isCommitted: true },
          callOf(PACKAGES),
        ));
    },
    async publish(ids: string[], packageId = '', packageParentId = ''): Promise<void> {
      const commit = await this.prepare(ids, packageId, packageParentId);
      await commit();
    },
    async entity(id: string): Promise<Entity> {
      const entity = (await loadEntities(database, [id])).get(id);
      if (entity === undefined) throw new Error(`${id} is gone`);
      return entity;
    },
    async json(id: string, form: 'FORM_DRAFT' | 'FORM_PUBLISHED', principal = OWNER) {
      const { results } = await handlers.ReadEntities({ refs: [{ id, form }] }, callOf(principal));
      return JSON.parse(String(results?.[0]?.document?.json)) as Record<string, unknown>;
    },
    async changedEvents(): Promise<string[]> {
      const rows = await database.$queryRawUnsafe<{ aggregate_id: string }[]>(
        "select aggregate_id from outbox where subject = 'knowledge.records.record.changed' order by id",
      );
      return rows.map((row) => row.aggregate_id);
    },
    async close(): Promise<void> {
      await database.close();
      await fresh.drop();
    },
  };
}
