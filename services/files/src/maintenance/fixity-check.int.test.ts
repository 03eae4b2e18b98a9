import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { appendFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { definitions, type ReadFixityReportResponse__Output } from '@kr/contracts';
import { type Client, createClient } from '@kr/rpc';
import { createLogger } from '@kr/telemetry';
import { openS3, type TestBucket, type TestS3, until } from '@kr/testbed';
import { openBlobStore, type StoreSettings } from '../blob/open-blob-store.ts';
import { type Database, openDatabase } from '../database.ts';
import {
  type FilesUnderTest,
  GATEWAY,
  KEYS,
  PATIENCE_MS,
  STORE_DEPS,
  startFilesUnderTest,
} from '../testing/files-under-test.ts';
import { type FixityChecker, fixityChecker } from './fixity-checker.ts';

type Operations = Client<typeof definitions.filesOperations>;

let files: FilesUnderTest;
let operations: Operations;
let database: Database;
beforeAll(async () => {
  files = await startFilesUnderTest();
  operations = operationsOf(files);
  database = openDatabase(files.config.databaseUrl);
});
afterAll(async () => {
  await database.close();
  operations.close();
  await files.stop();
});
beforeEach(async () => {
  // Each test reads its own objects alone: how long that takes is known then.
  for (const table of ['fixity_check', 'entry', 'object']) await files.sql.query(`delete from ${table}`);
});

function operationsOf({ service }: FilesUnderTest): Operations {
  return createClient(definitions.filesOperations, {
    address: `127.0.0.1:${service.grpcPort}`,
    audience: 'files',
    caller: 'operator',
    key: KEYS.internal,
    defaultTimeoutMs: PATIENCE_MS,
  });
}

const pathOf = (id: string) => files.pathOf(id);

/** Verifies all objects at once, and returns the results. */
async function checked(client = operations): Promise<ReadFixityReportResponse__Output> {
  const { id } = await client.startFixityCheck({ isUnthrottled: true }, GATEWAY);
  return until(async () => {
    const report = await client.readFixityReport({}, GATEWAY);
    return report.finished?.id === id ? report : undefined;
  });
}

const damages = ({ damagedObjects }: ReadFixityReportResponse__Output) =>
  Object.fromEntries(damagedObjects.map(({ id, damage }) => [id, damage]));

async function fileIdOf(entityId: string, key: string, bytes: string | Buffer): Promise<string> {
  const entry = await files.upload(entityId, key, bytes);
  if (entry === null) throw new Error(`${key} was not uploaded`);
  return entry.fileId;
}

/** Objects that are there as if they had been uploaded long ago. */
async function stored(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    const bytes = randomBytes(2_000);
    const digests = ['md5', 'sha256'].map((name) => createHash(name).update(bytes).digest('hex'));
    await mkdir(dirname(pathOf(id)), { recursive: true });
    await writeFile(pathOf(id), bytes);
    await files.sql.query(
      `insert into object (id, size, md5, sha256, crc32, created_at)
       values ($1, $2, $3, $4, 0, now() - interval '1 hour')`,
      [id, bytes.length, ...digests],
    );
  }
  return ids;
}

async function forget(ids: readonly string[]): Promise<void> {
  await files.sql.query('delete from object where id = any($1::uuid[])', [ids]);
}

/** An fixityChecker beside the service's own, as another process has one. */
async function another(bytesPerSecond: number): Promise<FixityChecker> {
  return fixityChecker({
    database,
    blobs: await openBlobStore(files.config.store, STORE_DEPS),
    now: () => new Date(),
    newId: randomUUID,
    logger: createLogger('files', { write: () => {} }),
    fixity: { everyMs: 0, bytesPerSecond },
  });
}
const FAST = 1_000_000_000;
/** Of the objects of `stored`, four in a second. */
const SLOW = 8_000;

describe('a fixity check', () => {
  test('finds what is different, longer or gone, names its files, and finds nothing wrong with the rest', async () => {
    const large = randomBytes(3_000_000);
    const sound = await fileIdOf('fixity-00001', 'sound.bin', large);
    const empty = await fileIdOf('fixity-00001', 'empty.bin', '');
    const flipped = await fileIdOf('fixity-00001', 'flipped.bin', large);
    const longer = await fileIdOf('fixity-00001', 'longer.bin', 'abc');
    const gone = await fileIdOf('fixity-00001', 'gone.bin', 'gone');
    const first = await checked();
    expect([first.damaged, first.neverVerified, first.finished?.objects]).toEqual(['0', '0', '5']);
    expect(first.finished?.bytes).toBe(String(2 * large.length + 7));

    await files.flipByte(flipped, 1_234_567);
    await appendFile(pathOf(longer), 'd');
    await rename(pathOf(gone), `${pathOf(gone)}.aside`);
    const second = await checked();
    expect(damages(second)).toEqual({ [flipped]: 'corrupt', [longer]: 'corrupt', [gone]: 'missing' });
    expect([second.damaged, second.finished?.objects, second.finished?.damaged]).toEqual(['3', '5', '3']);
    expect(second.damagedObjects.find(({ id }) => id === flipped)).toMatchObject({
      size: '3000000',
      files: [{ entityId: 'fixity-00001', key: 'flipped.bin' }],
      verifiedAt: expect.stringMatching(/^20/),
    });
    const { rows } = await files.sql.query('select id from object where verified_at > damaged_at');
    expect(rows).toEqual([]);

    await files.flipByte(flipped, 1_234_567);
    await writeFile(pathOf(longer), 'abc');
    await rename(`${pathOf(gone)}.aside`, pathOf(gone));
    expect([(await checked()).damagedObjects, sound === empty]).toEqual([[], false]);
  });

  test('finds each of a thousand objects in which one byte is another', async () => {
    const sound = await stored(100);
    const wrong = await stored(1_000);
    for (const [index, id] of wrong.entries()) await files.flipByte(id, index);
    const report = await checked();
    expect([report.damaged, Object.keys(damages(report)).sort()]).toEqual(['1000', [...wrong].sort()]);
    await forget([...sound, ...wrong]);
  });

  test('blames no object when the whole store is away', async () => {
    const [id = ''] = await stored(1);
    const aside = `${files.storageDir}.aside`;
    const fast = await another(FAST);
    await rename(files.storageDir, aside);
    try {
      await operations.startFixityCheck({ isUnthrottled: true }, GATEWAY);
      // The service's own process may have the check for a moment: then there is nothing to do for another.
      const failure = await until(() => fast.work().catch((error: unknown) => error));
      expect(failure).toMatchObject({ code: 'ENOENT' });
    } finally {
      await rename(aside, files.storageDir);
    }
    const { latest, damaged } = await operations.readFixityReport({}, GATEWAY);
    expect([latest?.finishedAt, damaged]).toEqual(['', '0']);
    expect((await checked()).damaged).toBe('0');
    await forget([id]);
  });

  test('reports nothing about an object that was collected while it was read, and everything about a missing one', async () => {
    const [swept = '', gone = ''] = await stored(2);
    await rm(pathOf(gone));
    const store = await openBlobStore(files.config.store, STORE_DEPS);
    const logged: { objectId: string; damage: string }[] = [];
    const reading = fixityChecker({
      database,
      blobs: {
        ...store,
        open: async (id) => {
          if (id === swept) {
            await forget([swept]);
            await store.remove(swept);
          }
          return store.open(id);
        },
      },
      now: () => new Date(),
      newId: randomUUID,
      logger: createLogger('files', { write: (line: string) => logged.push(JSON.parse(line)) }),
      fixity: { everyMs: 0, bytesPerSecond: FAST },
    });
    await files.sql.query('insert into fixity_check (started_at, is_unthrottled) values (now(), true)');
    await reading.work();
    expect(logged).toMatchObject([{ objectId: gone, damage: 'missing' }]);
    expect((await operations.readFixityReport({}, GATEWAY)).damaged).toBe('1');
  });

  test('that is reported as finished has all its findings', async () => {
    await stored(1);
    const finishing = await files.sql.connect();
    await finishing.query('begin');
    await finishing.query('lock table fixity_check in access exclusive mode');
    const reading = operations.readFixityReport({}, GATEWAY);
    await until(async () => {
      const { rows } = await files.sql.query(
        `select count(*)::int as n from pg_locks where not granted and relation = 'fixity_check'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
      );
      return rows[0].n >= 2;
    });
    await finishing.query("update object set damage = 'missing', damaged_at = now()");
    await finishing.query(
      'insert into fixity_check (started_at, finished_at, is_unthrottled) values (now(), now(), false)',
    );
    await finishing.query('commit');
    finishing.release();
    const { finished, damaged, damagedObjects } = await reading;
    expect([finished === null, damaged, damagedObjects.length]).toEqual([false, '1', 1]);
  });

  test('goes on where it was when its process ends, and reads nothing twice', async () => {
    const ids = await stored(40);
    const { rows } = await files.sql.query('select count(*)::int as n from object');
    const slow = await another(SLOW);
    // Taken before the service searches for work, like the process that is reading now.
    await files.sql.query(`insert into fixity_check (started_at, is_unthrottled, lease_holder, lease_until)
      values (now(), false, gen_random_uuid(), now() - interval '1 second')`);
    const working = slow.work();
    const some = await until(async () => {
      const { latest } = await operations.readFixityReport({}, GATEWAY);
      return Number(latest?.objects) >= 4 ? latest : undefined;
    });
    slow.stop();
    await working;
    const stopped = (await operations.readFixityReport({}, GATEWAY)).latest;
    expect([stopped?.id, stopped?.finishedAt, Number(stopped?.objects) < rows[0].n]).toEqual([
      some.id,
      '',
      true,
    ]);
    await (await another(FAST)).work();
    const { finished } = await until(async () => {
      const report = await operations.readFixityReport({}, GATEWAY);
      return report.finished === null ? undefined : report;
    });
    expect([finished?.id, finished?.objects]).toEqual([some.id, String(rows[0].n)]);
    await forget(ids);
  });

  test('is done by one process at a time, and by the next when that one is silent', async () => {
    const ids = await stored(3);
    await files.sql.query(`insert into fixity_check (started_at, is_unthrottled, lease_holder, lease_until)
      values (now(), false, gen_random_uuid(), now() + interval '1 hour')`);
    await (await another(FAST)).work();
    const running = await operations.readFixityReport({}, GATEWAY);
    expect([running.latest?.isRunning, running.latest?.objects]).toEqual([true, '0']);
    await files.sql.query(`update fixity_check set lease_until = now() - interval '1 second'`);
    await Promise.all([(await another(FAST)).work(), (await another(FAST)).work()]);
    const { latest } = await until(async () => {
      const report = await operations.readFixityReport({}, GATEWAY);
      return report.latest?.finishedAt === '' ? undefined : report;
    });
    const { rows } = await files.sql.query('select count(*)::text as n from object');
    expect(latest?.objects).toBe(rows[0].n);
    await forget(ids);
  });

  test('that somebody waits for takes the place of one that is under way', async () => {
    const ids = await stored(40);
    const slow = await another(SLOW);
    await files.sql.query('insert into fixity_check (started_at, is_unthrottled) values (now(), false)');
    const working = slow.work();
    await until(async () => (await operations.readFixityReport({}, GATEWAY)).latest?.isRunning === true);
    const report = await checked();
    await working;
    expect([report.finished?.isUnthrottled, report.latest?.id]).toEqual([true, report.finished?.id]);
    await forget(ids);
  });

  test('begins by itself when the latest is long ago, and not before', async () => {
    const deps = { database, blobs: await openBlobStore(files.config.store, STORE_DEPS) };
    const logger = createLogger('files', { write: () => {} });
    let at = new Date();
    const due = () =>
      fixityChecker({
        ...deps,
        logger,
        now: () => at,
        newId: randomUUID,
        fixity: { everyMs: 86_400_000, bytesPerSecond: 1_000_000_000 },
      }).work();
    const count = async () =>
      (await files.sql.query('select count(*)::int as n from fixity_check')).rows[0].n;
    await due();
    await due();
    expect(await count()).toBe(1);
    at = new Date(at.getTime() + 86_400_001);
    await due();
    expect(await count()).toBe(2);
  });

  test('is refused to users who are not administrators', async () => {
    const person = { ...GATEWAY, service: null, userId: '1', isAdmin: false };
    const refused = { kind: 'forbidden' };
    await expect(operations.startFixityCheck({ isUnthrottled: true }, person)).rejects.toMatchObject(refused);
    await expect(operations.readFixityReport({}, person)).rejects.toMatchObject(refused);
    await expect(operations.collectGarbage({ isApplied: true }, person)).rejects.toMatchObject(refused);
  });
});

const s3 = await openS3();
if ('missing' in s3) test.skip(`a fixity check of objects in S3 (${s3.missing})`, () => {});
else describe('a fixity check of objects in S3', () => describeInS3(s3));

function describeInS3(server: TestS3): void {
  let bucket: TestBucket | undefined;
  let inS3: FilesUnderTest | undefined;
  afterAll(async () => {
    await inS3?.stop();
    await bucket?.drop();
    await server.stop();
  });

  test('finds what is different or gone', async () => {
    bucket = await server.freshBucket();
    const { endpoint, region, accessKeyId, secretAccessKey } = server.access;
    const store: StoreSettings = {
      kind: 's3',
      endpoint,
      region,
      bucket: bucket.name,
      credentials: { accessKeyId, secretAccessKey },
      isPathStyle: true,
      idleMs: 60_000,
    };
    inS3 = await startFilesUnderTest({}, undefined, { store });
    const client = operationsOf(inS3);
    const bytes = randomBytes(9_000_000);
    await inS3.upload('fixity-in-s3', 'sound.bin', bytes);
    const other = await inS3.upload('fixity-in-s3', 'other.bin', bytes);
    const gone = await inS3.upload('fixity-in-s3', 'gone.bin', 'gone');
    expect(damages(await checked(client))).toEqual({});
    const blobs = await openBlobStore(store, STORE_DEPS);
    for (const id of [other?.fileId ?? '', gone?.fileId ?? '']) await blobs.remove(id);
    const changed = Buffer.from(bytes);
    changed[8_500_000] = (changed[8_500_000] ?? 0) ^ 1;
    const source = (async function* () {
      yield changed;
    })();
    await blobs.write(other?.fileId ?? '', source, { sizeHint: 10_000_000 });
    const report = await checked(client);
    expect(damages(report)).toEqual({ [other?.fileId ?? '']: 'corrupt', [gone?.fileId ?? '']: 'missing' });
    expect(report.finished?.objects).toBe('3');
    client.close();
  });
}
