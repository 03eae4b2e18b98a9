import { randomUUID } from 'node:crypto';
import { servicePrincipal } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { type BusConnection, connectBus, type Relay, startRelay, type Wait } from '@kr/event-bus';
import { around } from '@kr/failpoint';
import { createClient } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import { type OpenTicket, ticketOpener } from './access.ts';
import type { BlobStore } from './blob/blob-store.ts';
import type { NewContentHash } from './blob/content-hash.ts';
import { contentHashes } from './blob/content-hash.ts';
import { openBlobStore } from './blob/open-blob-store.ts';
import { verifiedStore } from './blob/verified-store.ts';
import { type SettlePublications, settlePublications } from './buckets/publications.ts';
import { type SealStore, sqlSealStore } from './buckets/seal-store.ts';
import type { FilesConfig } from './config.ts';
import { type Database, openDatabase } from './database.ts';
import type { ProgressLimits } from './http/body.ts';
import { type ChunkBuffers, chunkBuffers } from './http/body.ts';
import type { FindEntityIds } from './maintenance/remove-bucket.ts';
import { type KeyedMutex, keyedMutex } from './quota/keyed-mutex.ts';

/** Everything that handlers may reach. */
export interface FilesContext extends Omit<FilesConfig['limits'], 'idleMs' | 'minUploadBytesPerSecond'> {
  database: Database;
  seals: SealStore;
  blobs: BlobStore;
  newHash: NewContentHash;
  bus: BusConnection;
  openTicket: OpenTicket;
  settle: SettlePublications;
  /** Which of these ids records or packages have, draft or published. */
  findEntityIds: FindEntityIds;
  nudgeRelay: () => void;
  /** Whether all events committed before the call are in the stream within the time. */
  eventsSent: (wait: Wait) => Promise<boolean>;
  now: () => Date;
  newId: () => string;
  logger: Logger;
  quotaMutex: KeyedMutex;
  collectionGraceMs: number;
  verifyReadsPercent: number;
  buffers: ChunkBuffers;
  progress: ProgressLimits;
  uploadExpiryMs: number;
  /** Lets events out and closes connections. */
  close(): Promise<void>;
}

export async function openContext(config: FilesConfig, logger: Logger): Promise<FilesContext> {
  const now = () => new Date();
  const newId = () => randomUUID();
  const { idleMs, minUploadBytesPerSecond, ...limits } = config.limits;
  const newHash = contentHashes(logger);
  const database = openDatabase(config.databaseUrl);
  const blobs = verifiedStore(await openBlobStore(config.store, { logger }), {
    database,
    now,
    newId,
    logger,
  });
  const seals = sqlSealStore;
  const bus = connectBus({ servers: config.natsUrl, name: 'files', logger });
  const relay: Relay = startRelay({
    databaseUrl: config.databaseUrl,
    natsConnection: bus,
    source: 'files',
    logger,
  });
  const toPackages = {
    address: config.packagesAddress,
    audience: 'packages',
    caller: 'files',
    key: config.packagesKey,
    defaultTimeoutMs: config.rpcDeadlineMs,
  };
  const publications = createClient(definitions.publications, toPackages);
  const entities = [
    createClient(definitions.lifecycle, toPackages),
    createClient(definitions.lifecycle, {
      ...toPackages,
      address: config.recordsAddress,
      audience: 'records',
      key: config.recordsKey,
    }),
  ];
  return {
    database,
    seals,
    blobs: { ...blobs, write: around('files.write', blobs.write) },
    newHash,
    bus,
    openTicket: ticketOpener(config.ticketKey, now),
    settle: settlePublications({ database, seals, publications, now, newId, logger }),
    findEntityIds: async (ids) => {
      const found = await Promise.all(
        entities.map((service) => service.findIds({ ids: [...ids] }, servicePrincipal('files'))),
      );
      return {
        known: new Set(found.flatMap((answer) => answer.ids)),
        purged: new Set(found.flatMap((answer) => answer.purgedIds)),
      };
    },
    nudgeRelay: () => relay.nudge(),
    eventsSent: (wait) => relay.whenSent(database, wait),
    now,
    newId,
    logger,
    ...limits,
    quotaMutex: keyedMutex(),
    collectionGraceMs: config.collectionGraceMs,
    verifyReadsPercent: config.verifyReadsPercent,
    buffers: chunkBuffers(),
    progress: { idleMs, minBytesPerSecond: minUploadBytesPerSecond },
    uploadExpiryMs: config.uploadExpiryMs,
    close: async () => {
      for (const client of [publications, ...entities]) client.close();
      await relay.stop();
      await bus.close();
      await database.close();
    },
  };
}
