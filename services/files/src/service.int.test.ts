import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  appendEvents,
  connectBus,
  newEvent,
  type ReceivedEvent,
  startConsumer,
  startRelay,
} from '@kr/event-bus';
import { createLogger } from '@kr/telemetry';
import { expireEvents, startNats, type TestNats, until } from '@kr/testbed';
import { removeUnfinished } from './blob/blob-store.contract.ts';
import { filesystemBlobStore } from './blob/filesystem-blob-store.ts';
import { openDatabase } from './database.ts';
import { removeUnreferencedBlobs } from './maintenance/garbage-collection.ts';
import {
  type FilesUnderTest,
  GATEWAY,
  KEYS,
  PACKAGES,
  refusalOf,
  STORE_DEPS,
  startFilesUnderTest,
} from './testing/files-under-test.ts';

const silent = createLogger('test', { write: () => {} });

describe('the files service', () => {
  let nats: TestNats;
  let files: FilesUnderTest;
  beforeAll(async () => {
    nats = await startNats();
    files = await startFilesUnderTest({}, nats.url);
  });
  afterAll(async () => {
    await files.stop();
    await nats.stop();
  });

  const ready = async () => {
    const response = await fetch(`http://127.0.0.1:${files.service.healthPort}/readyz`);
    return [response.status, await response.json()];
  };

  test('is ready with its database and its storage', async () => {
    expect(await ready()).toEqual([200, { status: 'ok', checks: { database: 'ok', storage: 'ok' } }]);
  });

  test('keeps everything over a restart', async () => {
    await files.upload('restart-001', 'a.txt', 'kept');
    const before = await files.list('restart-001');
    await files.restart();
    expect(await files.list('restart-001')).toEqual(before);
    expect(String((await files.get('restart-001', 'a.txt')).body)).toBe('kept');
  });

  test('publishes completed and deleted files, once each, in order', async () => {
    const bus = connectBus({ servers: nats.url, name: 'test', logger: silent });
    const database = openDatabase(files.config.databaseUrl);
    const received: ReceivedEvent[] = [];
    const consumer = startConsumer({
      connection: bus,
      durable: 'test-entries',
      subjects: ['knowledge.files.entry.completed', 'knowledge.files.entry.deleted'],
      handleBatch: async (events) => {
        received.push(...events.filter(({ aggregateId }) => aggregateId === 'events-0001'));
      },
      recover: async () => undefined,
      database,
      logger: silent,
    });
    await files.upload('events-0001', 'a.txt', 'a');
    await files.upload('events-0001', 'b.txt', 'b');
    await files.client.commitUpload({ ticket: files.ticket('events-0001'), key: 'b.txt' }, GATEWAY);
    await files.client.deleteEntries({ ticket: files.ticket('events-0001'), all: true }, GATEWAY);
    await until(() => Promise.resolve(received.length >= 4));
    const summaries = received.map(({ subject, payload }) => [
      subject.split('.').at(-1),
      'key' in payload && payload.key,
    ]);
    expect(summaries.slice(0, 2)).toEqual([
      ['completed', 'a.txt'],
      ['completed', 'b.txt'],
    ]);
    expect(summaries.slice(2).sort()).toEqual([
      ['deleted', 'a.txt'],
      ['deleted', 'b.txt'],
    ]);
    const revisions = received.map(({ revision }) => revision);
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
    await consumer.stop();
    await bus.close();
    await database.close();
  });

  test('removes the files of an entity that is gone, and only those', async () => {
    await files.upload('gone-000001', 'a.txt', 'a');
    await files.upload('stays-00001', 'a.txt', 'a');
    await files.client.sealBuckets({ publicationId: 'x', epoch: 1, entityIds: ['public-0001'] }, PACKAGES);
    await files.client.applyDecisionToBuckets(
      { publicationId: 'x', isCommitted: true, publishedIds: ['public-0001'] },
      PACKAGES,
    );
    const database = openDatabase(files.config.databaseUrl);
    const deleted = (id: string, isPublished: boolean) =>
      newEvent(
        'knowledge.records.draft.deleted',
        { id, parentId: 'p', revision: 1, isPublished },
        { aggregateId: id, revision: 1 },
      );
    await appendEvents(database, [
      deleted('stays-00001', true),
      deleted('public-0001', false),
      deleted('gone-000001', false),
      deleted('never-00001', false),
    ]);
    await until(async () => (await files.list('gone-000001')).length === 0);
    const refusal = { kind: 'not_found', message: 'The persistent identifier does not exist.' };
    expect(await refusalOf(files.start('gone-000001', 'late.txt'))).toEqual(refusal);
    await until(
      async () =>
        JSON.stringify(await refusalOf(files.start('never-00001', 'late.txt'))) === JSON.stringify(refusal),
    );
    expect((await files.get('gone-000001', 'a.txt')).status).toBe(404);
    expect(await files.list('stays-00001')).toHaveLength(1);
    const { rows } = await files.sql.query("select state from bucket where entity_id = 'public-0001'");
    expect(rows).toEqual([{ state: 'immutable' }]);
    await database.close();
  });
});

test('files of deleted entities are removed also when the events were lost', async () => {
  const nats = await startNats();
  const files = await startFilesUnderTest({}, nats.url);
  const database = openDatabase(files.config.databaseUrl);
  const bus = connectBus({ servers: nats.url, name: 'test', logger: silent });
  try {
    await files.upload('gone-000001', 'a.txt', 'a');
    await files.upload('record-0001', 'a.txt', 'a');
    await files.upload('package-001', 'a.txt', 'a');
    for (const id of ['kept-000001', 'purged-0001']) {
      await files.upload(id, 'a.txt', 'a');
      await files.client.sealBuckets({ publicationId: id, epoch: 1, entityIds: [id] }, PACKAGES);
      await files.client.applyDecisionToBuckets(
        { publicationId: id, isCommitted: true, publishedIds: [id] },
        PACKAGES,
      );
      files.entities.records.add(id);
    }
    files.entities.purged.add('purged-0001');
    files.entities.records.add('record-0001');
    files.entities.packages.add('package-001');
    const isNoted = async () => (await files.sql.query('select 1 from consumer_position')).rowCount === 1;
    await until(isNoted);
    await files.whileStopped(async () => {
      const relay = startRelay({
        databaseUrl: files.config.databaseUrl,
        natsConnection: bus,
        source: 'files',
        logger: silent,
      });
      const gone = { id: 'gone-000001', parentId: 'p', revision: 1, isPublished: false };
      const event = newEvent('knowledge.records.draft.deleted', gone, { aggregateId: gone.id, revision: 1 });
      await appendEvents(database, [event]);
      expect(await relay.whenSent(database, { timeoutMs: 60_000 })).toBe(true);
      await relay.stop();
      await expireEvents(await bus.whenUp());
    });
    await until(async () => (await files.list('gone-000001')).length === 0);
    const keys = async () =>
      (await files.sql.query('select entity_id from entry order by entity_id')).rows.map(
        (row) => row.entity_id,
      );
    const kept = ['kept-000001', 'package-001', 'record-0001'];
    await until(async () => (await keys()).length === kept.length);
    expect(await keys()).toEqual(kept);
  } finally {
    await bus.close();
    await database.close();
    await files.stop();
    await nats.stop();
  }
});

describe('a process that is killed', () => {
  let files: FilesUnderTest;
  let child: ChildProcess | undefined;
  beforeAll(async () => {
    files = await startFilesUnderTest();
  });
  afterAll(async () => {
    child?.kill('SIGKILL');
    await files.stop();
  });

  /** The service as its own process, on the same database and storage. */
  async function startProcess(failpoint = ''): Promise<number> {
    const { config } = files;
    child = spawn(process.execPath, ['--import', '@kr/telemetry/preload', 'src/main.ts'], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: {
        DATABASE_URL: config.databaseUrl.href,
        NATS_URL: config.natsUrl.href,
        CALLER_KEYS: `gateway=${KEYS.internal}`,
        FILES_TICKET_KEY: KEYS.tickets,
        PACKAGES_ADDRESS: config.packagesAddress,
        PACKAGES_KEY: KEYS.packages,
        RECORDS_ADDRESS: config.recordsAddress,
        RECORDS_KEY: KEYS.packages,
        STORAGE_DIR: files.storageDir,
        FAILPOINT: failpoint,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (child.stdout === null) throw new Error('no output');
    for await (const line of createInterface({ input: child.stdout })) {
      const { msg, content_port: port } = JSON.parse(line);
      if (msg === 'ready') return port;
    }
    throw new Error('the process has ended');
  }

  test('between the rename and the row leaves an unreferenced object and a pending file, nothing else', async () => {
    await files.start('killed-0001', 'a.bin');
    const port = await startProcess('files.attach.before:kill');
    const exited = child === undefined ? undefined : once(child, 'exit');
    const upload = fetch(`http://127.0.0.1:${port}/content/killed-0001/a.bin`, {
      method: 'PUT',
      headers: { 'kr-ticket': files.ticket('killed-0001') },
      body: 'bytes',
    });
    await expect(upload).rejects.toThrow();
    await exited;
    expect((await files.storedFiles()).objects).toHaveLength(1);

    await files.restart();
    expect((await files.list('killed-0001')).map(({ isCompleted }) => isCompleted)).toEqual([false]);
    expect((await files.sql.query('select count(*)::int as n from object')).rows).toEqual([{ n: 0 }]);
    expect((await files.storedFiles()).objects).toHaveLength(1);
    const database = openDatabase(files.config.databaseUrl);
    const blobs = await filesystemBlobStore(files.storageDir, STORE_DEPS);
    await removeUnreferencedBlobs({
      database,
      blobs,
      // The reservation of the upload expires some minutes after its process.
      now: () => new Date(Date.now() + 360_000),
      logger: silent,
      garbageGraceMs: 0,
    });
    await database.close();
    expect((await files.storedFiles()).objects).toEqual([]);
    expect((await files.put('killed-0001', 'a.bin', 'bytes')).status).toBe(200);
  });

  test('while bytes arrive leaves a temporary file that the collection removes, and a pending file', async () => {
    await files.start('killed-0002', 'a.bin');
    const port = await startProcess();
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(100_000)),
    });
    const upload = fetch(`http://127.0.0.1:${port}/content/killed-0002/a.bin`, {
      method: 'PUT',
      headers: { 'kr-ticket': files.ticket('killed-0002') },
      body,
      duplex: 'half',
    });
    await until(async () => (await files.storedFiles()).tmp.length === 1);
    child?.kill('SIGKILL');
    await expect(upload).rejects.toThrow();
    const blobs = await filesystemBlobStore(files.storageDir, STORE_DEPS);
    expect(await removeUnfinished(blobs, new Date(Date.now() + 1_000))).toBe(1);
    expect((await files.list('killed-0002')).map(({ isCompleted }) => isCompleted)).toEqual([false]);
  });

  test('stops on request', async () => {
    await startProcess();
    const exited = child === undefined ? [] : once(child, 'exit');
    child?.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});
