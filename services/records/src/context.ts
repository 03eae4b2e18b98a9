import { servicePrincipal } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { openDatabase } from '@kr/database';
import { doiStates } from '@kr/doi-registration';
import {
  type LifecycleContext,
  type ListParentLinks,
  lifecycleContext,
  newEntityId,
  sqlLifecycleStore,
} from '@kr/draft-lifecycle';
import { type BusConnection, connectBus, type Relay, startRelay } from '@kr/event-bus';
import { around } from '@kr/failpoint';
import { publicationDecisions } from '@kr/publication-decisions';
import { createClient } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import {
  bucketCounts,
  type ListVersionResources,
  leavePackages,
  packageIds,
  versionResources,
} from './clients.ts';
import type { RecordsConfig } from './config.ts';
import { recordKind } from './record-kind.ts';

/** Dependencies of the RPC handlers and consumers of records. */
export interface RecordsContext extends LifecycleContext {
  /** Which of these ids belong to packages or their parents; what fails counts as an error here. */
  findPackageIds(ids: readonly string[]): Promise<ReadonlySet<string>>;
  readonly listVersionResources: ListVersionResources;
}

/** The context with the resources to close at shutdown. */
export interface OpenContext extends RecordsContext {
  readonly listParentLinks: ListParentLinks;
  readonly bus: BusConnection;
  close(): Promise<void>;
}

/** Opens the database and the connections to the other services; none of them has to be there yet. */
export function openContext(config: RecordsConfig, logger: Logger): OpenContext {
  const database = openDatabase(config.databaseUrl);
  const bus = connectBus({ servers: config.natsUrl, name: 'records', logger });
  const relay: Relay = startRelay({
    databaseUrl: config.databaseUrl,
    natsConnection: bus,
    source: 'records',
    logger,
  });
  const toPackages = {
    address: config.packagesAddress,
    audience: 'packages',
    caller: 'records',
    key: config.packagesKey,
    defaultTimeoutMs: config.rpcDeadlineMs,
  };
  const files = createClient(definitions.files, {
    address: config.filesAddress,
    audience: 'files',
    caller: 'records',
    key: config.filesKey,
    defaultTimeoutMs: config.rpcDeadlineMs,
  });
  const accessLinks = createClient(definitions.accessLinks, {
    address: config.accessLinksAddress,
    audience: 'access-links',
    caller: 'records',
    key: config.accessLinksKey,
    defaultTimeoutMs: config.rpcDeadlineMs,
  });
  const publications = createClient(definitions.publications, toPackages);
  const packageLife = createClient(definitions.lifecycle, toPackages);
  const packages = createClient(definitions.packages, toPackages);
  const findPackageIds = packageIds(packageLife);

  const lifecycle = lifecycleContext({
    kind: recordKind,
    database,
    store: sqlLifecycleStore,
    now: () => new Date(),
    newId: newEntityId,
    doiPrefix: config.doiPrefix,
    oaiPrefix: config.oaiPrefix,
    doiStates: config.registration && ((ids) => doiStates(database, ids)),
    ownerLimits: config.ownerLimits,
    afterDelete: leavePackages(packages, logger),
    ticketKeys: config.ticketKeys,
    describeBuckets: bucketCounts(files),
    resolvePublications: around('records.resolve', publicationDecisions(publications, 'records')),
    // Only the wording of a "not found" hangs on it.
    findIdsOfOtherKind: (ids) => findPackageIds(ids).catch(() => new Set<string>()),
    findDoisOfOtherKind: async (dois) => {
      const found = await packageLife.findDois({ dois: [...dois] }, servicePrincipal('records'));
      return new Set(found.dois);
    },
    nudge: relay.nudge,
    waitUntilRelayed: (wait) => relay.whenSent(database, wait),
    logger,
  });
  return {
    ...lifecycle,
    findPackageIds,
    listVersionResources: versionResources(packages),
    listParentLinks: async (parentIds) =>
      (await accessLinks.listParentLinks({ parentIds: [...parentIds] }, servicePrincipal('records'))).links,
    bus,
    async close() {
      await relay.stop();
      for (const client of [files, accessLinks, publications, packageLife, packages]) client.close();
      await bus.close();
      await database.close();
    },
  };
}
