import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import type { BlobStore } from '../blob/blob-store.ts';
import { storeFull } from '../blob/blob-store.ts';
import { startContentServer } from '../content-server.ts';
import { openContext } from '../context.ts';
import { type Database, openDatabase } from '../database.ts';
import { type FilesUnderTest, startFilesUnderTest } from '../testing/files-under-test.ts';
import { replaceUpload } from './begin-upload.ts';
import { startLease } from './upload-lease.ts';

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

/** The database, whose answer to the second question, whether a lost upload is still there, is late. */
function lateDatabase() {
  let queries = 0;
  let answer = () => {};
  const late = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const proxy = new Proxy(database, {
    get: (target, name) => {
      if (name !== '$queryRawUnsafe') return Reflect.get(target, name);
      return async (...query: Parameters<Database['$queryRawUnsafe']>) => {
        queries += 1;
        const isLate = queries === 2;
        const rows = await target.$queryRawUnsafe(...query);
        if (isLate) await late;
        return rows;
      };
    },
  });
  return { database: proxy, isQueried: () => queries >= 2, answer };
}

/** A lease that somebody else has taken over, noticed by its former holder at a moment when the upload is looked for. */
async function lostLease(entityId: string) {
  await files.start(entityId, 'a.bin');
  const id = randomUUID();
  const times = { createdAt: new Date(), expiresAt: new Date(Date.now() + 3_600_000) };
  const name = { id, entityId, ownerId: null, key: 'a.bin', lengthBytes: 11, metadata: '' };
  await replaceUpload(database, { ...name, ...times, leaseHolder: randomUUID() });
  const late = lateDatabase();
  const logged: string[] = [];
  const logger = createLogger('files', { write: (line) => void logged.push(line) });
  logger.level = 'warn';
  const lease = startLease(
    { database: late.database, logger },
    { id, holder: randomUUID(), since: performance.now() },
  );
  const reasons: ServiceError[] = [];
  lease.onRequested((reason) => reasons.push(reason));
  await until(late.isQueried);
  return { lease, answer: late.answer, reasons, logged };
}

/** More than one renewal of a lease is due meanwhile. */
const LONG_MS = 1_500;

test('a creation returns why its bytes were refused, however long the clean-up takes', async () => {
  await files.start('lease-clear', 'a.bin');
  const context = await openContext(files.config, createLogger('files', { write: () => {} }));
  const blobs: BlobStore = {
    ...context.blobs,
    append: () => Promise.reject(storeFull(undefined)),
    removeIncomplete: async (id) => {
      await delay(LONG_MS);
      await context.blobs.removeIncomplete(id);
    },
  };
  const server = await startContentServer({ ...context, blobs }, { host: '127.0.0.1', port: 0 });
  const refused = await fetch(`http://127.0.0.1:${server.port}/uploads/lease-clear/a.bin`, {
    method: 'POST',
    headers: {
      'kr-ticket': files.ticket('lease-clear'),
      'tus-resumable': '1.0.0',
      'upload-length': '5',
      'content-type': 'application/offset+octet-stream',
    },
    body: 'bytes',
  });
  expect([refused.status, await refused.json()]).toEqual([507, expect.objectContaining({ status: 507 })]);
  await server.stop(0);
  await context.close();
});

describe('a lease that turns out to be lost', () => {
  test('is reported', async () => {
    const { lease, answer, reasons, logged } = await lostLease('lease-lost1');
    answer();
    await until(() => reasons.length > 0);
    await lease.release();
    expect([reasons, logged]).toEqual([[expect.objectContaining({ code: 'upload_in_use' })], []]);
  });

  test('while it is ended is not reported: the stored state decides', async () => {
    const { lease, answer, reasons, logged } = await lostLease('lease-ended');
    expect(await lease.endBy(async () => 'saved')).toBe('saved');
    answer();
    await lease.release();
    expect([reasons, logged]).toEqual([[], []]);
  });

  test('while it is released is not reported: the requested change is done', async () => {
    const { lease, answer, reasons, logged } = await lostLease('lease-freed');
    const released = lease.release();
    answer();
    await released;
    expect([reasons, logged]).toEqual([[], []]);
  });
});
