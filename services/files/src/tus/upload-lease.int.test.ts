import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import { type Database, openDatabase } from '../store/prisma.ts';
import { type FilesUnderTest, startFilesUnderTest } from '../testing/files-under-test.ts';
import { heldLease, LEASE_MS } from './upload-lease.ts';
import { replaceUpload } from './upload-store.ts';

let files: FilesUnderTest;
let database: Database;
beforeAll(async () => {
  files = await startFilesUnderTest();
  database = openDatabase(files.config.databaseUrl);
});
afterAll(async () => {
  await database.$disconnect();
  await files.stop();
});

/** The database, whose answer to the second question, whether a lost upload is still there, is late. */
function lateDatabase() {
  let asked = 0;
  let answer = () => {};
  const late = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const proxy = new Proxy(database, {
    get: (target, name) => {
      if (name !== '$queryRaw') return Reflect.get(target, name);
      return async (...query: Parameters<Database['$queryRaw']>) => {
        asked += 1;
        const isLate = asked === 2;
        const rows = await target.$queryRaw(...query);
        if (isLate) await late;
        return rows;
      };
    },
  });
  return { database: proxy, isAsked: () => asked >= 2, answer };
}

/** A lease that somebody else has taken over, seen by its former holder at a moment when the upload is looked for. */
async function lostLease(entityId: string) {
  await files.start(entityId, 'a.bin');
  const id = randomUUID();
  const times = { createdAt: new Date(), expiresAt: new Date(Date.now() + 3_600_000) };
  const name = { id, entityId, key: 'a.bin', lengthBytes: 11, metadata: '' };
  await replaceUpload(database, { ...name, ...times, leaseHolder: randomUUID(), leaseMs: LEASE_MS });
  const late = lateDatabase();
  const logged: string[] = [];
  const logger = createLogger('files', { write: (line) => void logged.push(line) });
  logger.level = 'warn';
  const lease = heldLease(
    { database: late.database, logger },
    { id, holder: randomUUID(), since: performance.now() },
  );
  const told: ServiceError[] = [];
  lease.onWanted((reason) => told.push(reason));
  await until(late.isAsked);
  return { lease, answer: late.answer, told, logged };
}

describe('a lease that turns out to be lost', () => {
  test('is told of', async () => {
    const { lease, answer, told, logged } = await lostLease('lease-told1');
    answer();
    await until(() => told.length > 0);
    await lease.release();
    expect([told, logged]).toEqual([[expect.objectContaining({ code: 'upload_in_use' })], []]);
  });

  test('while it is ended is not told of: what was saved decides', async () => {
    const { lease, answer, told, logged } = await lostLease('lease-ended');
    expect(await lease.endBy(async () => 'saved')).toBe('saved');
    answer();
    await lease.release();
    expect([told, logged]).toEqual([[], []]);
  });

  test('while it is released is not told of: what was asked for is done', async () => {
    const { lease, answer, told, logged } = await lostLease('lease-freed');
    const released = lease.release();
    answer();
    await released;
    expect([told, logged]).toEqual([[], []]);
  });
});
