import { type Principal, SCOPES } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { type Client, createClient } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { RunningService } from '@kr/service-host';
import { createLogger } from '@kr/telemetry';
import { freshDatabase, startNats, until } from '@kr/testbed';
import { PrismaPg } from '@prisma/adapter-pg';
import type { PackagesConfig } from '../config.ts';
import { PrismaClient } from '../gen/prisma/client.ts';
import { startPackagesService } from '../service.ts';
import { type ScriptedPeers, startScriptedPeers } from './scripted-peers.ts';

export const OWNER: Principal = {
  userId: 'owner',
  isAdmin: false,
  scopes: SCOPES,
  grants: [],
  service: null,
  requestId: 'q',
};
export const STRANGER: Principal = { ...OWNER, userId: 'stranger' };
export const FILES: Principal = { ...OWNER, userId: null, service: 'files' };

/** One replica of the service with clients of its four gRPC services. */
export interface Replica extends RunningService {
  readonly lifecycle: Client<typeof definitions.lifecycle>;
  readonly packages: Client<typeof definitions.packages>;
  readonly publications: Client<typeof definitions.publications>;
  readonly reports: Client<typeof definitions.publicationReports>;
}

export interface PackagesFixture {
  readonly peers: ScriptedPeers;
  readonly database: PrismaClient;
  readonly natsUrl: string;
  readonly databaseUrl: string;
  start(publish?: Partial<PackagesConfig['publish']>, databaseUrl?: URL): Promise<Replica>;
  stop(): Promise<void>;
}

const KEY = 'p'.repeat(32);

export async function packagesFixture(): Promise<PackagesFixture> {
  const logger = createLogger('packages');
  const [created, nats] = await Promise.all([freshDatabase(), startNats()]);
  const peers = await startScriptedPeers(logger);
  const replicas: Replica[] = [];
  const database = new PrismaClient({ adapter: new PrismaPg({ connectionString: created.url }) });

  return {
    peers,
    database,
    natsUrl: nats.url,
    databaseUrl: created.url,
    async start(publish = {}, databaseUrl = new URL(created.url)) {
      const config: PackagesConfig = {
        databaseUrl,
        natsUrl: new URL(nats.url),
        grpcHost: '127.0.0.1',
        grpcPort: 0,
        healthPort: 0,
        callerKeys: new Map(['gateway', 'records', 'files', 'operator'].map((caller) => [caller, KEY])),
        recordsAddress: peers.recordsAddress,
        recordsKey: peers.key,
        rpcDeadlineMs: 5_000,
        filesAddress: peers.filesAddress,
        filesKey: peers.key,
        accessLinksAddress: '127.0.0.1:9',
        accessLinksKey: peers.key,
        ticketKeys: { files: KEY, 'access-links': KEY },
        doiPrefix: '10.5072',
        oaiPrefix: 'repository.test',
        removalRetentionMs: 86_400_000,
        ownerLimits: { maxDrafts: 10_000, maxMetadataBytes: 1_000_000_000 },
        vocabularyDir: '',
        registration: undefined,
        publish: {
          // Much longer than a busy machine needs; tests of expiry set it.
          leaseMs: 60_000,
          deadlineMs: 120_000,
          blockedMs: 60_000,
          reachMs: 60_000,
          retryMs: 20,
          scanEveryMs: 100,
          maxBytes: 67_108_864,
          ...publish,
        },
      };
      const service = await startPackagesService(config, logger);
      const as = (caller: string) => ({
        address: `127.0.0.1:${service.grpcPort}`,
        audience: 'packages',
        caller,
        key: KEY,
        defaultTimeoutMs: 60_000,
      });
      const { removeDeletedRecords, listVersionResources } = createClient(
        definitions.packages,
        as('records'),
      );
      const { resolvePublications } = createClient(definitions.publications, as('files'));
      const replica: Replica = {
        ...service,
        lifecycle: createClient(definitions.lifecycle, as('gateway')),
        packages: {
          ...createClient(definitions.packages, as('gateway')),
          removeDeletedRecords,
          listVersionResources,
        },
        publications: { ...createClient(definitions.publications, as('gateway')), resolvePublications },
        reports: createClient(definitions.publicationReports, as('operator')),
      };
      replicas.push(replica);
      return replica;
    },
    async stop() {
      await Promise.all(replicas.map((replica) => replica.stop()));
      for (const { lifecycle, packages, publications, reports } of replicas) {
        for (const client of [lifecycle, packages, publications, reports]) client.close();
      }
      await database.$disconnect();
      await peers.stop();
      await nats.stop();
      await created.drop();
    },
  };
}

export const GOOD_METADATA = {
  title: 'Floods',
  publication_date: '2024-03-01',
  publisher: 'Example',
  creators: [{ person_or_org: { type: 'personal', family_name: 'Carberry', given_name: 'Josiah' } }],
};

/** Retries a call while it is `unavailable`, for a busy machine. */
export async function insist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const outcome = await until(async () => {
    const [asked] = await Promise.allSettled([ask()]);
    const isToComeAgain =
      asked.status === 'rejected' && ServiceError.from(asked.reason).kind === 'unavailable';
    return isToComeAgain ? undefined : asked;
  });
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** A package draft that is ready to be published. */
export async function aPackage(
  { lifecycle }: Replica,
  metadata: object = GOOD_METADATA,
): Promise<{ id: string; parentId: string }> {
  const body = Buffer.from(JSON.stringify({ files: { enabled: false }, metadata }));
  const { document } = await lifecycle.createDraft({ body }, OWNER);
  if (document === null) throw new Error('no document');
  return { id: document.id, parentId: document.parentId };
}

/** The body of a request that names resources. */
export function idsBody(name: 'records' | 'resources', ids: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify({ [name]: ids.map((id) => ({ id })) }));
}

/** A package draft with managed resource drafts of these ids in its version. */
export async function aPackageWith(
  fixture: PackagesFixture,
  replica: Replica,
  ids: readonly string[],
): Promise<{ id: string; parentId: string }> {
  const created = await aPackage(replica);
  for (const id of ids) {
    fixture.peers.records.set(id, managedDraft(id, created.parentId));
  }
  const { errors } = await replica.packages.addResources(
    { packageId: created.id, body: idsBody('resources', ids) },
    OWNER,
  );
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  return created;
}

export function managedDraft(id: string, managedBy: string) {
  return { id, parentId: `parent-${id}`, hasDraft: true, isPublished: false, managedBy, isReadable: true };
}

export function publishedRecord(id: string) {
  return { ...managedDraft(id, ''), hasDraft: false, isPublished: true };
}
