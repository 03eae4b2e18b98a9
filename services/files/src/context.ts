import { randomUUID } from 'node:crypto';
import { servicePrincipal } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { connectBus, startRelay, type Wait } from '@kr/event-bus';
import { around } from '@kr/failpoint';
import { createClient } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';
import { ticketOpener } from './access.ts';
import { contentHashes } from './blob/content-hash.ts';
import { openBlobStore } from './blob/open-blob-store.ts';
import { verifiedStore } from './blob/verified-store.ts';
import { finishPublications } from './buckets/publications.ts';
import { sqlSealStore } from './buckets/seal-store.ts';
import type { FilesConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { chunkBuffers } from './http/body.ts';
import { keyedMutex } from './quota/keyed-mutex.ts';
import { runningHashes } from './uploads/running-hashes.ts';

/** Everything that handlers use. */
export type FilesContext = Awaited<ReturnType<typeof openContext>>;

export async function openContext(config: FilesConfig, logger: Logger) {
  const now = () => new Date();
  const newId = (): string => randomUUID();
  const database = openDatabase(config.databaseUrl);
  const store = await openBlobStore(config.store, { logger });
  const blobs = verifiedStore(store, { database, now, newId, logger });
  const seals = sqlSealStore;
  const newHash = contentHashes(logger);
  const bus = connectBus({ servers: config.natsUrl, name: 'files', logger });
  const relay = startRelay({
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
    hashes: runningHashes(newHash),
    bus,
    openTicket: ticketOpener(config.ticketKey, now),
    finishPublications: finishPublications({ database, seals, publications, now, newId, logger }),
    /** Which of these ids records or packages have, draft or published. */
    findEntityIds: async (ids: readonly string[]) => {
      const found = await Promise.all(
        entities.map((service) => service.findIds({ ids: [...ids] }, servicePrincipal('files'))),
      );
      return {
        known: new Set(found.flatMap((answer) => answer.ids)),
        purged: new Set(found.flatMap((answer) => answer.purgedIds)),
      };
    },
    nudgeRelay: () => relay.nudge(),
    /** Whether all events committed before the call are in the stream within the time. */
    eventsSent: (wait: Wait) => relay.whenSent(database, wait),
    now,
    newId,
    logger,
    ...config.limits,
    fixity: config.fixity,
    garbageGraceMs: config.garbageGraceMs,
    verifyReadsPercent: config.verifyReadsPercent,
    quotaMutex: keyedMutex(),
    buffers: chunkBuffers(),
    /** Sends remaining events and closes connections. */
    close: async () => {
      for (const client of [publications, ...entities]) client.close();
      await relay.stop();
      await bus.close();
      await database.close();
    },
  };
}
