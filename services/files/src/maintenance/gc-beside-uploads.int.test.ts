import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { openS3, type TestBucket, type TestS3 } from '@kr/testbed';
import type { BlobStore } from '../blob/blob-store.ts';
import { openBlobStore, type StoreSettings } from '../blob/open-blob-store.ts';
import { type Database, openDatabase } from '../database.ts';
import {
  type FilesUnderTest,
  GATEWAY,
  STORE_DEPS,
  startFilesUnderTest,
} from '../testing/files-under-test.ts';
import {
  deleteExpiredUploads,
  type GarbageDeps,
  removeUnreferencedBlobs,
  removeUnreferencedObjects,
} from './garbage-collection.ts';

const UPLOADERS = 5;
const ROUNDS = 3;
/** More than a part of S3 has. */
const LARGE = 9_000_000;

interface Acknowledged {
  entityId: string;
  key: string;
  bytes: Buffer;
}

const s3 = await openS3();
afterAll(async () => {
  if ('stop' in s3) await s3.stop();
});

describe('a collection without grace, repeatedly while files are uploaded in every way', () => {
  test('takes nothing that was acknowledged and leaves nothing else in a folder', () => besideUploads());

  if ('missing' in s3) test.skip(`in S3 (${s3.missing})`, () => {});
  else
    test('takes nothing that was acknowledged and leaves nothing else in S3', async () => {
      const bucket = await s3.freshBucket();
      try {
        await besideUploads(settingsOf(s3, bucket));
      } finally {
        await bucket.drop();
      }
    });
});

function settingsOf({ access }: TestS3, { name }: TestBucket): StoreSettings {
  const { endpoint, region, accessKeyId, secretAccessKey } = access;
  const credentials = { accessKeyId, secretAccessKey };
  return { kind: 's3', endpoint, region, bucket: name, credentials, isPathStyle: true, idleMs: 60_000 };
}

async function besideUploads(store?: StoreSettings): Promise<void> {
  const files = await startFilesUnderTest({}, undefined, store === undefined ? {} : { store });
  const database = openDatabase(files.config.databaseUrl);
  const blobs = await openBlobStore(files.config.store, STORE_DEPS);
  const logger = createLogger('files', { write: () => {} });
  const deps: GarbageDeps = { database, blobs, now: () => new Date(), logger, garbageGraceMs: 0 };
  const sweep = async () => {
    await deleteExpiredUploads(deps);
    await removeUnreferencedObjects(deps);
    return removeUnreferencedBlobs(deps);
  };
  try {
    let isOver = false;
    let sweeps = 0;
    const sweeping = (async () => {
      for (; !isOver; sweeps += 1) await sweep();
    })();
    const uploaders = Array.from({ length: UPLOADERS }, (_, index) => uploadMany(files, index));
    const [outcomes] = await Promise.all([
      Promise.all(uploaders).finally(() => {
        isOver = true;
      }),
      sweeping,
    ]);
    const acknowledged = outcomes.flat();
    expect([acknowledged.length >= UPLOADERS * ROUNDS, sweeps >= 2]).toEqual([true, true]);
    for (const { entityId, key, bytes } of acknowledged) {
      const { status, body } = await files.get(entityId, key);
      expect([key, status, body.equals(bytes)]).toEqual([key, 200, true]);
    }
    // An aborted upload releases its bytes a moment later, when its connection is known to be closed.
    await files.sql.query(`update reservation set expires_at = now() - interval '1 hour'`);
    await sweep();
    expect(await storedIn(blobs)).toEqual(await source(database));
  } finally {
    await database.close();
    await files.stop();
  }
}

/** One user's files, of which some are replaced, some deleted and some aborted. */
async function uploadMany(files: FilesUnderTest, index: number): Promise<Acknowledged[]> {
  const entityId = `swept-${index}`;
  const kept: Acknowledged[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const bytes = randomBytes(round === 0 ? LARGE : 1 + ((index * 7_919 + round * 104_729) % 100_000));
    const put = { entityId, key: `put ${round}`, bytes };
    const resumed = { entityId, key: `resumed ${round}`, bytes };
    await files.start(entityId, put.key, resumed.key, `broken ${round}`, `deleted ${round}`);
    await files.put(entityId, put.key, 'replaced');
    await breakOff(files, { ...put, key: `broken ${round}` });
    expect((await files.put(entityId, put.key, bytes)).status).toBe(200);
    expect((await files.put(entityId, `deleted ${round}`, bytes)).status).toBe(200);
    await resume(files, resumed);
    for (const { key } of [put, resumed])
      await files.client.commitUpload({ ticket: files.ticket(entityId), key }, GATEWAY);
    await files.client.deleteEntries({ ticket: files.ticket(entityId), keys: [`deleted ${round}`] }, GATEWAY);
    kept.push(put, resumed);
  }
  return kept;
}

async function breakOff(files: FilesUnderTest, { entityId, key, bytes }: Acknowledged): Promise<void> {
  const { request, answer } = files.openPut(entityId, key, { 'content-length': `${bytes.length + 1}` });
  await new Promise((resolve) => request.write(bytes, resolve));
  request.destroy();
  await expect(answer).rejects.toThrow();
}

/** In two pieces of a resumable upload. */
async function resume(files: FilesUnderTest, { entityId, key, bytes }: Acknowledged): Promise<void> {
  const root = `http://127.0.0.1:${files.service.contentPort}`;
  const base = { 'kr-ticket': files.ticket(entityId), 'tus-resumable': '1.0.0' };
  const created = await fetch(`${root}/uploads/${entityId}/${encodeURIComponent(key)}`, {
    method: 'POST',
    headers: { ...base, 'upload-length': String(bytes.length) },
  });
  const id = created.headers.get('location')?.split('/').at(-1);
  const upload = `${root}/uploads/${entityId}/${encodeURIComponent(key)}/${id}`;
  const half = Math.floor(bytes.length / 2);
  let offset = 0;
  while (offset < bytes.length) {
    const end = offset < half ? half : bytes.length;
    const { status } = await fetch(upload, {
      method: 'PATCH',
      headers: {
        ...base,
        'upload-offset': String(offset),
        'content-type': 'application/offset+octet-stream',
      },
      body: new Uint8Array(bytes.subarray(offset, end)),
    });
    // A process whose timers are late on a loaded machine loses its lease; a client then requests the offset.
    expect([204, 409]).toContain(status);
    offset = status === 204 ? end : await offsetOf(upload, base);
  }
}

async function offsetOf(upload: string, headers: Record<string, string>): Promise<number> {
  const { status, headers: answerHeaders } = await fetch(upload, { method: 'HEAD', headers });
  expect(status).toBe(200);
  return Number(answerHeaders.get('upload-offset'));
}

async function storedIn(blobs: BlobStore): Promise<string[]> {
  const ids: string[] = [];
  const inAMinute = new Date(Date.now() + 60_000);
  for (const listed of [blobs.list(), blobs.listIncomplete(), blobs.listUnfinished(inAMinute)])
    for await (const { id } of listed) ids.push(id);
  return ids.sort();
}

async function source(database: Database): Promise<string[]> {
  const rows = await database.$queryRawUnsafe<{ id: string }[]>(
    'select distinct object_id as id from entry where object_id is not null',
  );
  return rows.map(({ id }) => id).sort();
}
