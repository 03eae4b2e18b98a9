import { servicePrincipal } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { openDatabase } from '@kr/database';
import { doiStates } from '@kr/doi-registration';
import {
  type FileCounts,
  type LifecycleContext,
  type LifecycleDeps,
  type ListParentLinks,
  lifecycleContext,
  newEntityId,
  sqlLifecycleStore,
} from '@kr/draft-lifecycle';
import { type BusConnection, connectBus, startRelay } from '@kr/event-bus';
import { type Client, createClient } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import type { PackagesConfig } from './config.ts';
import { type Observations, observations } from './observations.ts';
import { recordsSide } from './package-context/notify-records.ts';
import { packageKind } from './package-kind.ts';

/** Everything that handlers may reach. */
export interface PackagesContext extends LifecycleContext {
  readonly records: Client<typeof definitions.records>;
  /** The life of resources, as the records service serves it. */
  readonly recordsLifecycle: Client<typeof definitions.lifecycle>;
  readonly files: Client<typeof definitions.files>;
  readonly listParentLinks: ListParentLinks;
  readonly bus: BusConnection;
  readonly observed: Observations;
  /** Lets events out and closes connections. */
  close(): Promise<void>;
}

export function openContext(config: PackagesConfig, logger: Logger): PackagesContext {
  const now = () => new Date();
  const observed = observations(logger, now);
  const database = openDatabase(config.databaseUrl);
  const bus = connectBus({ servers: config.natsUrl, name: 'packages', logger });
  const relay = startRelay({
    databaseUrl: config.databaseUrl,
    natsConnection: bus,
    source: 'packages',
    logger,
  });
  const toRecords = {
    address: config.recordsAddress,
    audience: 'records',
    caller: 'packages',
    key: config.recordsKey,
    defaultTimeoutMs: config.rpcDeadlineMs,
  };
  const records = createClient(definitions.records, toRecords);
  const recordsLifecycle = createClient(definitions.lifecycle, toRecords);
  const files = createClient(definitions.files, {
    address: config.filesAddress,
    audience: 'files',
    caller: 'packages',
    key: config.filesKey,
    defaultTimeoutMs: config.rpcDeadlineMs,
  });
  const accessLinks = createClient(definitions.accessLinks, {
    address: config.accessLinksAddress,
    audience: 'access-links',
    caller: 'packages',
    key: config.accessLinksKey,
    defaultTimeoutMs: config.rpcDeadlineMs,
  });

  return {
    ...lifecycleContext({
      kind: packageKind,
      database,
      store: sqlLifecycleStore,
      now,
      newId: newEntityId,
      doiPrefix: config.doiPrefix,
      oaiPrefix: config.oaiPrefix,
      doiStates: config.registration && ((ids) => doiStates(database, ids)),
      ownerLimits: config.ownerLimits,
      ...recordsSide(records, observed, now),
      ticketKeys: config.ticketKeys,
      describeBuckets: bucketCounts(files),
      resolvePublications: neverDecidedElsewhere,
      findIdsOfOtherKind: async (ids) => {
        const found = await recordsLifecycle
          .findIds({ ids: [...ids] }, servicePrincipal('packages'))
          .catch(() => ({ ids: [] }));
        return new Set(found.ids);
      },
      findDoisOfOtherKind: async (dois) => {
        const found = await recordsLifecycle.findDois({ dois: [...dois] }, servicePrincipal('packages'));
        return new Set(found.dois);
      },
      nudge: () => relay.nudge(),
      waitUntilRelayed: (wait) => relay.whenSent(database, wait),
      logger,
    }),
    records,
    recordsLifecycle,
    files,
    listParentLinks: async (parentIds) =>
      (await accessLinks.listParentLinks({ parentIds: [...parentIds] }, servicePrincipal('packages'))).links,
    bus,
    observed,
    close: async () => {
      for (const client of [records, recordsLifecycle, files, accessLinks]) client.close();
      await relay.stop();
      await bus.close();
      await database.close();
    },
  };
}

/**
 * A package's draft is unlocked in the transaction that decides its publication, so a lock that is seen is a lock: there
 * is never a decision that is still to be carried out here.
 */
const neverDecidedElsewhere: LifecycleDeps['resolvePublications'] = async (ids) =>
  new Map(ids.map((id) => [id, 'undecided']));

function bucketCounts(files: PackagesContext['files']): LifecycleDeps['describeBuckets'] {
  return async (entityIds) => {
    const { buckets } = await files.describeBuckets(
      { entityIds: [...entityIds] },
      servicePrincipal('packages'),
    );
    return new Map(
      buckets.map(({ entityId, entries, pending, totalBytes, keys }): [string, FileCounts] => [
        entityId,
        { entries, pending, totalBytes: Number(totalBytes), keys },
      ]),
    );
  };
}
