import { mkdtemp, open as openFile, readdir, rm } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { servicePrincipal, signTicket, type Ticket } from '@kr/caller';
import { definitions, type FileEntry__Output } from '@kr/contracts';
import { type Client, createClient, type Server, serve } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { freshDatabase } from '@kr/testbed';
import pg from 'pg';
import type { FilesConfig } from '../config.ts';
import { type FilesService, startFilesService } from '../service.ts';

export const KEYS = {
  internal: 'internal-key-of-the-files-service-in-tests',
  tickets: 'ticket-key-of-the-files-service-in-tests--',
  packages: 'internal-key-of-the-packages-service-tests',
};

/** How long the tests' own calls may take: much longer than a busy machine does. */
export const PATIENCE_MS = 120_000;

export type Decision = 'DECISION_UNDECIDED' | 'DECISION_COMMITTED' | 'DECISION_ABORTED';

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface FilesUnderTest {
  service: FilesService;
  config: FilesConfig;
  /** The folder of the bytes. */
  storageDir: string;
  client: Client<typeof definitions.files>;
  sql: pg.Pool;
  /** The coordinator's answers; for other publications it is unreachable. */
  decisions: Map<string, Decision>;
  /** The number of queries to the coordinator. */
  queriedPublications: string[][];
  ticket(entityId: string, actions?: readonly string[], sourceEntityId?: string | null): string;
  put(
    entityId: string,
    key: string,
    bytes: string | Buffer,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  get(entityId: string, key: string, headers?: Record<string, string>, method?: string): Promise<Answer>;
  /** A PUT that is under way: its body is sent bit by bit. */
  openPut(
    entityId: string,
    key: string,
    headers?: Record<string, string>,
  ): { request: ClientRequest; answer: Promise<Answer> };
  start(entityId: string, ...keys: string[]): Promise<FileEntry__Output[]>;
  /** Starts, uploads and commits a file. */
  upload(entityId: string, key: string, bytes: string | Buffer): Promise<FileEntry__Output | null>;
  list(entityId: string): Promise<FileEntry__Output[]>;
  /** Where the bytes of an object lie. */
  pathOf(objectId: string): string;
  /** Changes one bit of a stored byte, as bad disks do. */
  flipByte(objectId: string, at: number): Promise<void>;
  storedFiles(): Promise<{ objects: string[]; tmp: string[] }>;
  /** The owners of entities; a test may give several to one user. */
  ownerOf: (entityId: string) => string;
  /** Ids that the records and the packages service have. */
  entities: EntityIds;
  /** Stops the service, does something, and starts it again. */
  whileStopped(act: () => Promise<void>): Promise<void>;
  /** Stops the service and starts it again on the same database and storage. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const silent = createLogger('files', { write: () => {} });

/** For a store beside the service's own, on the same bytes. */
export const STORE_DEPS = { logger: silent };

export const PACKAGES = servicePrincipal('packages');
export const GATEWAY = servicePrincipal('gateway');

/** The service on a separate database and folder, with a coordinator whose answers the test sets. */
export async function startFilesUnderTest(
  limits: Partial<FilesConfig['limits']> = {},
  natsUrl = 'nats://127.0.0.1:9',
  changed: Partial<FilesConfig> = {},
): Promise<FilesUnderTest> {
  const database = await freshDatabase();
  const storageDir = await mkdtemp(join(tmpdir(), 'files-'));
  const decisions = new Map<string, Decision>();
  const queriedPublications: string[][] = [];
  const entities: EntityIds = { records: new Set(), packages: new Set(), purged: new Set() };
  const coordinator = await startCoordinator(decisions, queriedPublications, entities);
  const records = await startPeer('records', [ids(entities.records, entities.purged)]);
  const config: FilesConfig = {
    databaseUrl: new URL(database.url),
    natsUrl: new URL(natsUrl),
    grpcHost: '127.0.0.1',
    grpcPort: 0,
    contentPort: 0,
    healthPort: 0,
    callerKeys: new Map(['gateway', 'packages', 'operator'].map((caller) => [caller, KEYS.internal])),
    ticketKey: KEYS.tickets,
    packagesAddress: `127.0.0.1:${coordinator.port}`,
    packagesKey: KEYS.packages,
    recordsAddress: `127.0.0.1:${records.port}`,
    recordsKey: KEYS.packages,
    rpcDeadlineMs: 5_000,
    store: { kind: 'filesystem', folder: storageDir },
    limits: {
      maxFilesPerEntity: 1_000,
      maxFileBytes: 100_000_000,
      maxBytesPerEntity: 1_000_000_000_000,
      maxBytesPerUser: 1_000_000_000_000,
      progress: { idleMs: 60_000, minBytesPerSecond: 16_384 },
      minDownloadBytesPerSecond: 1_024,
      ...limits,
    },
    garbageGraceMs: 86_400_000,
    fixity: { everyMs: 0, bytesPerSecond: 1_000_000_000 },
    verifyReadsPercent: 0,
    ...changed,
  };
  // Tests provoke errors; set this to `error` to see why an answer is `internal`.
  const logger = createLogger('files', process.stderr);
  logger.level = 'fatal';
  const sql = new pg.Pool({ connectionString: database.url, max: 3 });
  // A connection may still be closing when the database is dropped.
  sql.on('error', () => {});
  let service = await startFilesService(config, logger);
  let client = connect(service);

  function connect({ grpcPort }: FilesService) {
    const as = (caller: string) =>
      createClient(definitions.files, {
        address: `127.0.0.1:${grpcPort}`,
        audience: 'files',
        caller,
        key: KEYS.internal,
        defaultTimeoutMs: PATIENCE_MS,
      });
    const gateway = as('gateway');
    const { describeBuckets, sealBuckets, applyDecisionToBuckets, close } = as('packages');
    const closeBoth = () => {
      gateway.close();
      close();
    };
    return { ...gateway, describeBuckets, sealBuckets, applyDecisionToBuckets, close: closeBoth };
  }

  const ticket: FilesUnderTest['ticket'] = (entityId, actions = ['write_files'], sourceEntityId = null) => {
    const signed: Ticket = {
      audience: 'files',
      entityId,
      parentId: 'parent',
      managedBy: 'parent of the package',
      form: 'draft',
      actions,
      sourceEntityId,
      ownerId: system.ownerOf(entityId),
      userId: '1',
      expiresAt: Date.now() + 10 * PATIENCE_MS,
    };
    return signTicket(signed, KEYS.tickets);
  };

  const storedPath = (id: string) => join(storageDir, 'objects', id.slice(0, 2), id.slice(2, 4), id);

  function open(method: string, entityId: string, key: string, headers: Record<string, string>) {
    const request = httpRequest({
      port: service.contentPort,
      method,
      path: `/content/${encodeURIComponent(entityId)}/${encodeURIComponent(key)}`,
      headers: { 'kr-ticket': ticket(entityId), ...headers },
      agent: false,
    });
    const answer = new Promise<Answer>((resolve, reject) => {
      request.once('error', reject).once('response', (response) => {
        buffer(response).then(
          (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
          reject,
        );
      });
    });
    return { request, answer };
  }

  const system: FilesUnderTest = {
    get service() {
      return service;
    },
    get client() {
      return client;
    },
    config,
    storageDir,
    sql,
    decisions,
    queriedPublications,
    ticket,
    openPut: (entityId, key, headers = {}) => open('PUT', entityId, key, headers),
    put: (entityId, key, bytes, headers = {}) => {
      const { request, answer } = open('PUT', entityId, key, headers);
      request.end(bytes);
      return answer;
    },
    get: (entityId, key, headers = {}, method = 'GET') => {
      const { request, answer } = open(method, entityId, key, headers);
      request.end();
      return answer;
    },
    start: async (entityId, ...keys) => {
      const entries = keys.map((key) => ({ key }));
      return (await client.startUploads({ ticket: ticket(entityId), entries }, GATEWAY)).entries;
    },
    upload: async (entityId, key, bytes) => {
      await system.start(entityId, key);
      await system.put(entityId, key, bytes);
      return (await client.commitUpload({ ticket: ticket(entityId), key }, GATEWAY)).entry;
    },
    list: async (entityId) => (await client.listEntries({ ticket: ticket(entityId) }, GATEWAY)).entries,
    ownerOf: (entityId) => `owner of ${entityId}`,
    pathOf: storedPath,
    flipByte: async (id, at) => {
      const file = await openFile(storedPath(id), 'r+');
      const byte = Buffer.alloc(1);
      await file.read(byte, 0, 1, at);
      await file.write(Buffer.from([(byte[0] ?? 0) ^ 1]), 0, 1, at);
      await file.close();
    },
    storedFiles: async () => ({
      objects: await filesBelow(join(storageDir, 'objects')),
      tmp: await filesBelow(join(storageDir, 'tmp')),
    }),
    entities,
    whileStopped: async (act) => {
      client.close();
      await service.stop();
      await act();
      service = await startFilesService(config, logger);
      client = connect(service);
    },
    restart: () => system.whileStopped(async () => undefined),
    stop: async () => {
      client.close();
      await service.stop();
      await Promise.all([coordinator.stop(), records.stop()]);
      await sql.end();
      await database.drop();
      await rm(storageDir, { recursive: true, force: true });
    },
  };
  return system;
}

interface EntityIds {
  records: Set<string>;
  packages: Set<string>;
  /** The entities whose files are deleted permanently. */
  purged: Set<string>;
}

type Served = Parameters<typeof serve>[0]['services'];

function startPeer(audience: string, services: Served): Promise<Server> {
  return serve({
    services,
    host: '127.0.0.1',
    port: 0,
    audience,
    callerKeys: new Map([['files', KEYS.packages]]),
    logger: createLogger(audience, { write: () => {} }),
  });
}

/** A service that knows these ids. */
function ids(known: ReadonlySet<string>, purged: ReadonlySet<string>): Served[number] {
  return {
    definition: { FindIds: definitions.lifecycle.FindIds },
    handlers: {
      FindIds: async (request: { ids: string[] }) => {
        const found = request.ids.filter((id) => known.has(id));
        return { ids: found, purgedIds: found.filter((id) => purged.has(id)) };
      },
    },
    callers: { files: 'all' },
  };
}

function startCoordinator(
  decisions: Map<string, Decision>,
  queriedPublications: string[][],
  { packages, purged }: EntityIds,
): Promise<Server> {
  return startPeer('packages', [
    ids(packages, purged),
    {
      definition: definitions.publications,
      handlers: {
        Publish: async () => {
          throw new ServiceError('internal', 'not in these tests');
        },
        Validate: async () => {
          throw new ServiceError('internal', 'not in these tests');
        },
        ResolvePublications: async ({ publicationIds }: { publicationIds: string[] }) => {
          queriedPublications.push(publicationIds);
          return { decisions: publicationIds.map((publicationId) => decided(publicationId)) };
        },
      },
      callers: { files: 'all' },
    },
  ]);

  function decided(publicationId: string) {
    const decision = decisions.get(publicationId);
    if (decision === undefined) throw new ServiceError('unavailable', 'not reached', { retryAfterMs: 1_000 });
    return { publicationId, decision };
  }
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** A refusal as far as tests compare it. */
export async function refusalOf(call: Promise<unknown>) {
  try {
    await call;
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    const { kind, message, code, issues } = thrown;
    return { kind, message, ...(code !== undefined && { code }), ...(issues.length > 0 && { issues }) };
  }
  return 'no refusal';
}
