import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { definitions } from '@kr/contracts';
import { createClient } from '@kr/rpc';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import { type Database, openDatabase } from '../database.ts';
import { fixityChecker } from '../maintenance/fixity-checker.ts';
import { removeUnreferencedBlobs, removeUnreferencedObjects } from '../maintenance/garbage-collection.ts';
import { failingFiles } from '../testing/failing-files.ts';
import {
  type FilesUnderTest,
  GATEWAY,
  KEYS,
  PATIENCE_MS,
  STORE_DEPS,
  startFilesUnderTest,
} from '../testing/files-under-test.ts';
import type { BlobStore, ListedBlob } from './blob-store.ts';
import type { FileOperations } from './filesystem-blob-store.ts';
import { filesystemBlobStore } from './filesystem-blob-store.ts';
import { verifiedStore } from './verified-store.ts';

let files: FilesUnderTest;
let database: Database;
beforeAll(async () => {
  files = await startFilesUnderTest();
  database = openDatabase(files.config.databaseUrl);
});
afterAll(async () => {
  await database.close();
  await files.stop();
});

const isReady = async () => (await fetch(`http://127.0.0.1:${files.service.healthPort}/readyz`)).ok;
const AWAY = { kind: 'unavailable', message: 'The storage of files cannot be reached.' };

/** The disk is not mounted: in its place is an empty folder. */
async function unmounted(work: () => Promise<void>): Promise<void> {
  const aside = `${files.storageDir}.aside`;
  await rename(files.storageDir, aside);
  await mkdir(files.storageDir);
  try {
    await work();
  } finally {
    await rm(files.storageDir, { recursive: true });
    await rename(aside, files.storageDir);
  }
}

describe('a disk that is not mounted', () => {
  const refused = async () => {
    expect(await isReady()).toBe(false);
    for (const answer of [
      await files.get('mounted-001', 'a.txt'),
      await files.put('mounted-001', 'b.txt', 'bytes'),
    ])
      expect([answer.status, JSON.parse(String(answer.body)).message]).toEqual([503, AWAY.message]);
    const entries = await readdir(files.storageDir, { recursive: true, withFileTypes: true });
    expect(entries.filter((entry) => entry.isFile())).toEqual([]);
  };
  beforeAll(async () => {
    await files.upload('mounted-001', 'a.txt', 'here');
    await files.start('mounted-001', 'b.txt');
  });

  test('when the service starts is no empty store, and is used once it is mounted', async () => {
    await unmounted(async () => {
      await files.restart();
      await refused();
    });
    expect(await isReady()).toBe(true);
    expect(String((await files.get('mounted-001', 'a.txt')).body)).toBe('here');
    expect((await files.put('mounted-001', 'b.txt', 'bytes')).status).toBe(200);
  });

  test('any more is detected by a request for a file, and used when it is back', async () => {
    await unmounted(async () => {
      expect((await files.get('mounted-001', 'a.txt')).status).toBe(503);
      await refused();
    });
    expect(String((await files.get('mounted-001', 'a.txt')).body)).toBe('here');
    expect(await isReady()).toBe(true);
  });

  test('has nothing missing for a fixity check', async () => {
    const operations = createClient(definitions.filesOperations, {
      address: `127.0.0.1:${files.service.grpcPort}`,
      audience: 'files',
      caller: 'operator',
      key: KEYS.internal,
      defaultTimeoutMs: PATIENCE_MS,
    });
    await unmounted(async () => {
      await files.sql.query('delete from fixity_check');
      await files.sql.query(
        "insert into fixity_check (started_at, is_unthrottled) values (now() + interval '1 day', true)",
      );
      const reading = fixityChecker({
        database,
        blobs: await storeOf(files.storageDir),
        now: () => new Date(),
        newId: randomUUID,
        logger: STORE_DEPS.logger,
        fixity: { everyMs: 0, bytesPerSecond: 1_000_000_000 },
      });
      // The service's own process may have the check for a moment: then there is nothing to do for another.
      expect(await until(() => reading.work().catch((error: unknown) => error))).toMatchObject(AWAY);
      expect((await operations.readFixityReport({}, GATEWAY)).damaged).toBe('0');
    });
    operations.close();
  });
});

let logged: string[] = [];
const logger = createLogger('files', {
  write: (line: string) => {
    logged.push(JSON.parse(line).storage_problem ?? JSON.parse(line).msg);
  },
});

const now = () => new Date();

async function storeOf(folder: string, files?: FileOperations): Promise<BlobStore> {
  return verifiedStore(await filesystemBlobStore(folder, { ...STORE_DEPS, ...(files && { files }) }), {
    database,
    now,
    newId: randomUUID,
    logger,
  });
}

async function idsOf(listed: AsyncIterable<ListedBlob>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of listed) ids.push(id);
  return ids.sort();
}

/** For any contents of the database. */
const storedIn = async (folder: string) => idsOf((await filesystemBlobStore(folder, STORE_DEPS)).list());

describe('a store', () => {
  const folders: string[] = [];
  let folder: string;
  beforeEach(async () => {
    for (const table of ['fixity_check', 'entry', 'object', 'reservation', 'store_identity'])
      await files.sql.query(`delete from ${table}`);
    folder = await mkdtemp(join(tmpdir(), 'verified-store-'));
    folders.push(folder);
    logged = [];
  });
  afterAll(() => Promise.all(folders.map((path) => rm(path, { recursive: true }))));

  const identity = async () =>
    (await files.sql.query('select id::text, claimed_at from store_identity')).rows[0];
  const idFile = () => join(folder, 'store-id');
  /** Bytes of an object with or without a row. */
  async function holds(content: string, { isNamed }: { isNamed: boolean }): Promise<string> {
    const id = randomUUID();
    const store = await filesystemBlobStore(folder, STORE_DEPS);
    await store.write(id, source(content), { sizeHint: 100 });
    if (isNamed)
      await files.sql.query(
        `insert into object (id, size, md5, sha256, crc32, created_at) values ($1, $2, $3, $4, 0, now())`,
        [
          id,
          content.length,
          ...['md5', 'sha256'].map((name) => createHash(name).update(content).digest('hex')),
        ],
      );
    return id;
  }
  async function read(store: BlobStore, id: string): Promise<string> {
    const blob = await store.open(id);
    const bytes = await blob.slice({ start: 0, end: 99 });
    await blob.close();
    return String(bytes);
  }
  async function* source(content: string) {
    yield Buffer.from(content);
  }

  test('that is new gets its id before it is used, once, by all processes alike', async () => {
    const stores = await Promise.all([storeOf(folder), storeOf(folder), storeOf(folder)]);
    await Promise.all(stores.map((store) => store.write(randomUUID(), source('x'), { sizeHint: 1 })));
    const { id, claimed_at: claimedAt } = await identity();
    expect([await readFile(idFile(), 'utf8'), claimedAt]).toEqual([`${id}\n`, expect.any(Date)]);
    expect(logged).toEqual([]);
  });

  test('whose id was not written because of a crash gets it then', async () => {
    await storeOf(folder).then((store) => store.check());
    const { id } = await identity();
    await files.sql.query('update store_identity set claimed_at = null');
    await storeOf(folder).then((store) => store.check());
    await files.sql.query('update store_identity set claimed_at = null');
    await rm(idFile());
    await storeOf(folder).then((store) => store.check());
    expect([(await readFile(idFile(), 'utf8')).trim(), (await identity()).id]).toEqual([id, id]);
  });

  test('without an id is known by one of its objects', async () => {
    const id = await holds('from before', { isNamed: true });
    const store = await storeOf(folder);
    expect(await text((await store.open(id)).stream())).toBe('from before');
    expect((await identity()).claimed_at).toEqual(expect.any(Date));
  });

  /** A reservation of a PUT. */
  const reserve = (id: string, ends: string) =>
    files.sql.query('insert into reservation (id, entity_id, bytes, expires_at) values ($1, $2, 5, $3)', [
      id,
      'reserved',
      ends,
    ]);

  test.each<{ name: string; prepare: (id: string) => Promise<unknown> }>([
    { name: 'at once', prepare: (id) => reserve(id, '2199-01-01') },
    { name: 'at once, whose time is over,', prepare: (id) => reserve(id, '2026-01-01') },
    {
      name: 'in parts',
      prepare: async (id) => {
        const [entry] = await files.start(`killed-${id}`, 'a.txt');
        await files.sql.query(
          `insert into upload (id, entity_id, key, metadata, created_at, expires_at)
           values ($1, $2, $3, '', now(), now())`,
          [id, `killed-${id}`, entry?.key],
        );
      },
    },
  ])(
    'without an identity is recognised by the remains of an upload $name whose process was killed',
    async ({ prepare }) => {
      await holds('of another installation', { isNamed: false });
      const id = await holds('left', { isNamed: false });
      await prepare(id);
      const store = await storeOf(folder);
      await store.check();
      expect((await identity()).claimed_at).toEqual(expect.any(Date));
      expect([await read(store, id), logged]).toEqual(['left', []]);
    },
  );

  test.each(['ENOSPC', 'EROFS', 'EIO'])(
    'without an id is used while its id cannot be written (%s), which is retried',
    async (code) => {
      const id = await holds('from before', { isNamed: true });
      let isMarkable = false;
      const broken = failingFiles(({ name }) => (!isMarkable && name === 'writeFile' ? code : undefined));
      const store = await storeOf(folder, broken);
      for (let round = 0; round < 3; round += 1) {
        expect(await read(store, id)).toBe('from before');
        await store.check();
      }
      expect([(await identity()).claimed_at, await readdir(join(folder, 'tmp'))]).toEqual([null, []]);
      expect(logged).toEqual(['the id of the storage of files cannot be written, retrying']);
      isMarkable = true;
      await store.check();
      const { id: expected, claimed_at: claimedAt } = await identity();
      expect([await readFile(idFile(), 'utf8'), claimedAt]).toEqual([`${expected}\n`, expect.any(Date)]);
    },
  );

  test('without an id is known also when its newest object cannot be read', async () => {
    const id = await holds('old', { isNamed: true });
    await holds('new', { isNamed: true });
    let isOpen = false;
    let opened = 0;
    const broken = failingFiles(({ name }) => {
      // Of the id, of which there is none, and then of the newest object.
      if (name === 'open' && isOpen) opened += 1;
      return name === 'open' && opened === 2 ? 'EIO' : undefined;
    });
    const store = await storeOf(folder, broken);
    isOpen = true;
    expect(await read(store, id)).toBe('old');
    expect((await identity()).claimed_at).toEqual(expect.any(Date));
  });

  test('that is known but has no id yet is not used when it is away', async () => {
    const id = await holds('from before', { isNamed: true });
    const store = await storeOf(
      folder,
      failingFiles(({ name }) => (name === 'rename' ? 'ENOSPC' : undefined)),
    );
    await store.check();
    await rm(join(folder, 'objects'), { recursive: true });
    await expect(store.open(id)).rejects.toMatchObject(AWAY);
    await expect(store.write(randomUUID(), source('x'), { sizeHint: 1 })).rejects.toMatchObject(AWAY);
  });

  test('whose id may not be durable gets it again before it is relied on', async () => {
    await storeOf(folder).then((store) => store.check());
    await files.sql.query('update store_identity set claimed_at = null');
    const written: string[] = [];
    const watched = failingFiles(({ name }) => {
      if (name === 'rename' || name === 'sync') written.push(name);
      return undefined;
    });
    const store = await storeOf(folder, watched);
    written.length = 0;
    await store.check();
    expect(written).toEqual(['sync', 'rename', 'sync']);
    expect((await identity()).claimed_at).toEqual(expect.any(Date));
  });

  test.each(['EIO', 'EACCES', 'ESTALE'])(
    'that gives an error (%s) is unavailable, and logs it once',
    async (code) => {
      const id = await holds('bytes', { isNamed: true });
      let isBroken = false;
      const broken = failingFiles(({ name }) => (isBroken && name === 'open' ? code : undefined));
      const store = await storeOf(folder, broken);
      isBroken = true;
      for (let round = 0; round < 2; round += 1) {
        await expect(store.open(id)).rejects.toMatchObject(AWAY);
        await expect(store.check()).rejects.toMatchObject(AWAY);
      }
      expect(logged).toEqual([`The storage of files cannot be read: ${code}: open`]);
      isBroken = false;
      expect(await read(store, id)).toBe('bytes');
    },
  );

  test.each<{ name: string; prepare: () => Promise<unknown>; problem: RegExp }>([
    {
      name: 'that has lost its id',
      prepare: async () => {
        await storeOf(folder).then((store) => store.check());
        await holds('bytes', { isNamed: false });
        await rm(idFile());
      },
      problem:
        /^The storage of files is not the one of this database: .*store-id is missing\. Mount the disk/,
    },
    {
      name: 'of another database',
      prepare: async () => {
        await holds('bytes', { isNamed: false });
        await writeFile(idFile(), randomUUID());
      },
      problem: /^The storage of files is that of another database: .*store-id is [0-9a-f-]{36}\. Give/,
    },
    {
      name: 'without an id and without any of the objects of the database',
      prepare: async () => {
        await holds('bytes', { isNamed: true });
        await rm(join(folder, 'objects'), { recursive: true });
        await holds('bytes', { isNamed: false });
      },
      problem: /^The storage of files has none of the objects in the database\. Mount/,
    },
    {
      name: 'without an id, with objects, under a database that is new',
      prepare: () => holds('bytes', { isNamed: false }),
      problem: /^The storage has files and the database knows of none\. Give/,
    },
    {
      name: 'without an id, with objects, under a database that knows of uploads, but of none of these',
      prepare: async () => {
        await reserve(randomUUID(), '2199-01-01');
        await holds('bytes', { isNamed: false });
        await holds('bytes', { isNamed: false });
      },
      problem: /^The storage has files and the database knows of none\. Give/,
    },
  ])(
    '$name is neither written, read, listed nor cleaned, reports the next step, and may be adopted',
    async ({ prepare, problem }) => {
      await prepare();
      const store = await storeOf(folder);
      const ids = await storedIn(folder);
      const [id = ''] = ids;
      const deps = {
        database,
        blobs: store,
        now: () => new Date(Date.now() + 86_400_000),
        logger,
        garbageGraceMs: 1,
      };
      const part = {
        sizeHint: 9,
        from: 0,
        durableEvery: 9,
        onDurable: async () => {},
        beforeWrite: () => {},
      };
      for (const use of [
        () => store.check(),
        () => store.write(randomUUID(), source('x'), { sizeHint: 1 }),
        () => store.append(randomUUID(), source('x'), part),
        () => store.complete(randomUUID(), 1),
        () => store.open(id),
        () => store.remove(id),
        () => store.removeIncomplete(id),
        () => idsOf(store.list()),
        () => removeUnreferencedBlobs(deps),
      ])
        await expect(use()).rejects.toMatchObject(AWAY);
      expect(await storedIn(folder)).toEqual(ids);
      expect(logged).toEqual([expect.stringMatching(problem)]);

      const { id: expected } = await identity();
      expect(logged[0]).toContain(`write ${expected} into ${idFile()}.`);
      await writeFile(idFile(), expected);
      await store.check();
      expect(await text((await store.open(id)).stream())).toBe('bytes');
      expect(logged.at(-1)).toBe('the storage of files is used again');
    },
  );

  test('that is unavailable keeps the rows of removable objects', async () => {
    await holds('bytes', { isNamed: true });
    const store = await storeOf(folder);
    await store.check();
    await rm(idFile());
    const deps = { database, blobs: store, now, logger, garbageGraceMs: -1_000 };
    await expect(removeUnreferencedObjects(deps)).rejects.toMatchObject(AWAY);
    expect((await files.sql.query('select count(*)::int as n from object')).rows).toEqual([{ n: 1 }]);
    expect(await storedIn(folder)).toHaveLength(1);
  });
});
