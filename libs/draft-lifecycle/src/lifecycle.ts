import { servicePrincipal } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import { openDatabase, type Sql } from '@kr/database';
import { type BusConnection, type Consumer, connectBus, startConsumer, startRelay } from '@kr/event-bus';
import { type Callers, type Client, type ClientOptions, createClient, type Handlers } from '@kr/rpc';
import type { LifecycleContext, LifecycleDeps } from './context/context.ts';
import { draftQuota } from './context/owner-limits.ts';
import {
  LINK_SUBJECTS,
  type ListParentLinks,
  mirrorAccessLinks,
  restoreLinks,
} from './events/access-links.ts';
import { fileCounts } from './model/files.ts';
import { newEntityId } from './model/ids.ts';
import { readAuditLog } from './operations/audit.ts';
import { authoriseAction } from './operations/authorise-action.ts';
import { createDraft } from './operations/create-draft.ts';
import { createVersion } from './operations/create-version.ts';
import { deleteDraft } from './operations/delete-draft.ts';
import { editPublished } from './operations/edit-published.ts';
import { awaitEventsSent, fetchForIndex, findDois, findIds, listIds } from './operations/for-services.ts';
import { discardPid, reservePid } from './operations/pids.ts';
import {
  clearDeletedPreviews,
  clearLostPreviews,
  clearPreview,
  FILE_DELETED_SUBJECTS,
} from './operations/previews.ts';
import { listVersions, readEntities, readLatest } from './operations/read-entities.ts';
import { listRemovals, removePublished, restorePublished } from './operations/removal.ts';
import { updateDraft } from './operations/update-draft.ts';
import { createPublicationResolver } from './publication/decisions.ts';
import { documentBudget } from './store/document-budget.ts';
import { sqlLifecycleStore } from './store/lifecycle-store.ts';

/** Configuration of the lifecycle, the same for both kinds. */
export interface LifecycleConfig
  extends Pick<LifecycleDeps, 'ticketKeys' | 'doiPrefix' | 'oaiPrefix' | 'ownerLimits'> {
  databaseUrl: URL;
  natsUrl: URL;
  filesAddress: string;
  filesKey: string;
  accessLinksAddress: string;
  accessLinksKey: string;
  /** Milliseconds that a call of another service may take. */
  rpcDeadlineMs: number;
}

/** Dependencies that differ from kind to kind. */
type OfKind = Pick<
  LifecycleDeps,
  'kind' | 'vocabularies' | 'resolvePublications' | 'afterUpdate' | 'afterDelete' | 'furtherTrails' | 'logger'
> & {
  /** As of `LifecycleDeps`, on a database. */
  doiStates?: ((sql: Sql, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>) | undefined;
};

/** The lifecycle with its connections. */
export interface OpenLifecycle extends LifecycleContext {
  readonly bus: BusConnection;
  readonly files: Client<typeof definitions.files>;
  readonly listParentLinks: ListParentLinks;
  /** The ids of the other kind of entity among these. Throws when its service does not answer within 1 s. */
  findOtherKind(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Lets events out and closes the connections. */
  close(): Promise<void>;
}

const FIND_IDS_MS = 1_000;

/** Opens the database and the connections to other services; none of them has to be there yet. */
export function openLifecycle(
  config: LifecycleConfig,
  otherKind: Client<typeof definitions.lifecycle>,
  ofKind: OfKind,
): OpenLifecycle {
  const { kind, logger, doiStates } = ofKind;
  const service = `${kind.name}s`;
  const self = () => servicePrincipal(service);
  const database = openDatabase(config.databaseUrl);
  const bus = connectBus({ servers: config.natsUrl, name: service, logger });
  const relay = startRelay({
    databaseUrl: config.databaseUrl,
    natsConnection: bus,
    source: service,
    logger,
  });
  const files = createClient(
    definitions.files,
    peer(service, 'files', config.filesAddress, config.filesKey, config),
  );
  const accessLinks = createClient(
    definitions.accessLinks,
    peer(service, 'access-links', config.accessLinksAddress, config.accessLinksKey, config),
  );
  const findOtherKind = async (ids: readonly string[]): Promise<ReadonlySet<string>> => {
    if (ids.length === 0) return new Set();
    const found = await otherKind.findIds({ ids: [...ids] }, self(), { timeoutMs: FIND_IDS_MS });
    return new Set(found.ids);
  };
  const context = lifecycleContext({
    ...ofKind,
    doiStates: doiStates && ((ids) => doiStates(database, ids)),
    database,
    store: sqlLifecycleStore,
    now: () => new Date(),
    newId: newEntityId,
    doiPrefix: config.doiPrefix,
    oaiPrefix: config.oaiPrefix,
    ownerLimits: config.ownerLimits,
    ticketKeys: config.ticketKeys,
    async describeBuckets(entityIds) {
      const { buckets } = await files.describeBuckets({ entityIds: [...entityIds] }, self());
      return new Map(buckets.map((bucket) => [bucket.entityId, fileCounts(bucket)]));
    },
    // Only the wording of a "not found" depends on it.
    findIdsOfOtherKind: (ids) => findOtherKind(ids).catch(() => new Set<string>()),
    findDoisOfOtherKind: async (dois) =>
      new Set((await otherKind.findDois({ dois: [...dois] }, self())).dois),
    wakeRelay: relay.nudge,
    waitUntilRelayed: (wait) => relay.whenSent(database, wait),
  });
  return {
    ...context,
    bus,
    files,
    listParentLinks: async (parentIds) =>
      (await accessLinks.listParentLinks({ parentIds: [...parentIds] }, self())).links,
    findOtherKind,
    async close() {
      await relay.stop();
      for (const client of [files, accessLinks, otherKind]) client.close();
      await bus.close();
      await database.close();
    },
  };
}

/** Options of a client of another service. */
export function peer(
  caller: string,
  audience: string,
  address: string,
  key: string,
  { rpcDeadlineMs }: Pick<LifecycleConfig, 'rpcDeadlineMs'>,
): ClientOptions {
  return { address, audience, caller, key, defaultTimeoutMs: rpcDeadlineMs };
}

/** The consumers of other services' events, of either kind. */
export function startLifecycleConsumers(context: OpenLifecycle): Consumer[] {
  const { bus: connection, database, logger, kind } = context;
  const shared = { connection, database, logger };
  return [
    startConsumer<(typeof LINK_SUBJECTS)[number]>({
      ...shared,
      durable: `${kind.name}s-follow-links`,
      subjects: LINK_SUBJECTS,
      handleBatch: mirrorAccessLinks(context),
      recover: () => restoreLinks(context, context.listParentLinks),
    }),
    startConsumer({
      ...shared,
      durable: `${kind.name}s-clear-deleted-previews`,
      subjects: FILE_DELETED_SUBJECTS,
      handleBatch: clearDeletedPreviews(context),
      recover: () => clearLostPreviews(context),
    }),
  ];
}

export type LifecycleHandlers = Handlers<typeof definitions.lifecycle>;

/** One memory of decisions for all operations of a process. */
export function lifecycleContext(deps: LifecycleDeps): LifecycleContext {
  return {
    ...deps,
    publications: createPublicationResolver(deps),
    documentBudget: documentBudget(),
    draftQuota: draftQuota(deps.ownerLimits, deps.now),
  };
}

/** RPC name -> the file that answers it, for one kind of entity. */
export function lifecycleHandlers(context: LifecycleContext): LifecycleHandlers {
  return {
    CreateDraft: createDraft(context),
    ReadEntities: readEntities(context),
    UpdateDraft: updateDraft(context),
    DeleteDraft: deleteDraft(context),
    EditPublished: editPublished(context),
    CreateVersion: createVersion(context),
    ListVersions: listVersions(context),
    ReadLatest: readLatest(context),
    ReservePid: reservePid(context),
    DiscardPid: discardPid(context),
    Authorise: authoriseAction(context),
    ClearPreview: clearPreview(context),
    ReadAuditLog: readAuditLog(context),
    FetchForIndex: fetchForIndex(context),
    ListIds: listIds(context),
    FindIds: findIds(context),
    FindDois: findDois(context),
    RemovePublished: removePublished(context),
    RestorePublished: restorePublished(context),
    ListRemovals: listRemovals(context),
    AwaitEventsSent: awaitEventsSent(context),
  };
}

/** Callers of the LifecycleService of either kind; the service adds the RPCs that the other kind calls. */
export const LIFECYCLE_CALLERS = {
  gateway: [
    'CreateDraft',
    'ReadEntities',
    'UpdateDraft',
    'DeleteDraft',
    'EditPublished',
    'CreateVersion',
    'ListVersions',
    'ReadLatest',
    'ReservePid',
    'DiscardPid',
    'Authorise',
    'ClearPreview',
    'ReadAuditLog',
    'RemovePublished',
    'RestorePublished',
    'ListRemovals',
  ],
  search: ['FetchForIndex', 'ListIds', 'AwaitEventsSent'],
} as const satisfies Callers<Definitions['lifecycle']>;
