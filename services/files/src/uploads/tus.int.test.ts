import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, rename, rm, stat, symlink, utimes } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import type { BlobStore } from '../blob/blob-store.ts';
import { filesystemBlobStore } from '../blob/filesystem-blob-store.ts';
import { type Database, openDatabase } from '../database.ts';
import { deleteExpiredUploads, removeUnreferencedBlobs } from '../maintenance/garbage-collection.ts';
import {
  type Answer,
  type FilesUnderTest,
  GATEWAY,
  PACKAGES,
  STORE_DEPS,
  startFilesUnderTest,
} from '../testing/files-under-test.ts';

let files: FilesUnderTest;
let database: Database;
let blobs: BlobStore;
beforeAll(async () => {
  files = await startFilesUnderTest({ maxFileBytes: 100_000_000 });
  database = openDatabase(files.config.databaseUrl);
  blobs = await filesystemBlobStore(files.storageDir, STORE_DEPS);
});
afterAll(async () => {
  await database.close();
  await files.stop();
});

const CHUNK = { 'content-type': 'application/offset+octet-stream' };

/** A request of the protocol that is under way: its body is sent bit by bit. */
function openTus(method: string, path: string, headers: Record<string, string | number> = {}) {
  const [, entityId = ''] = /^\/uploads\/([^/]+)/.exec(path) ?? [];
  const request = httpRequest({
    port: files.service.contentPort,
    method,
    path,
    headers: { 'kr-ticket': files.ticket(entityId), 'tus-resumable': '1.0.0', ...headers },
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

function tus(
  method: string,
  path: string,
  headers: Record<string, string | number> = {},
  body: string | Buffer = '',
): Promise<Answer> {
  const { request, answer } = openTus(method, path, headers);
  request.end(body);
  return answer;
}

/** Starts an entry and an upload into it; gives the path of the upload. */
async function create(entityId: string, key: string, length: number): Promise<string> {
  await files.start(entityId, key);
  return createAgain(entityId, key, length);
}

async function createAgain(entityId: string, key: string, length: number): Promise<string> {
  const { status, headers } = await tus('POST', `/uploads/${entityId}/${key}`, { 'upload-length': length });
  expect(status).toBe(201);
  return String(headers.location);
}

const patch = (path: string, offset: number, bytes: string | Buffer, more: Record<string, string> = {}) =>
  tus('PATCH', path, { ...CHUNK, 'upload-offset': offset, ...more }, bytes);

async function offsetOf(path: string): Promise<[status: number, offset: string | undefined]> {
  const { status, headers } = await tus('HEAD', path);
  return [status, headers['upload-offset']?.toString()];
}

const commit = (entityId: string, key: string) =>
  files.client.commitUpload({ ticket: files.ticket(entityId), key }, GATEWAY);

const HOUR_MS = 3_600_000;

/** The options of the collections, at a later time. */
const sweep = (laterMs = 0) => ({
  database,
  blobs,
  now: () => new Date(Date.now() + laterMs),
  logger: createLogger('files', { write: () => {} }),
  garbageGraceMs: 24 * HOUR_MS,
});

const idOf = (path: string) => path.split('/').at(-1) ?? '';

const incompleteOf = (path: string) => join(files.storageDir, 'incomplete', idOf(path));

function objectOf(path: string): string {
  const id = idOf(path);
  return join(files.storageDir, 'objects', id.slice(0, 2), id.slice(2, 4), id);
}

const md5 = (bytes: Buffer | string) => `md5:${createHash('md5').update(bytes).digest('hex')}`;

const codeOf = ({ status, body }: Answer): [number, string] => [status, JSON.parse(String(body)).code];

describe('a resumable upload', () => {
  test('becomes the content of its entry when all bytes have arrived', async () => {
    const path = await create('tus-whole1', 'a.bin', 11);
    expect((await patch(path, 0, 'hello ')).status).toBe(204);
    expect(await offsetOf(path)).toEqual([200, '6']);
    expect((await patch(path, 6, 'world')).headers['upload-offset']).toBe('11');
    const { entry } = await commit('tus-whole1', 'a.bin');
    expect([entry?.checksum, entry?.size, entry?.fileId]).toEqual([md5('hello world'), '11', idOf(path)]);
    expect(String((await files.get('tus-whole1', 'a.bin')).body)).toBe('hello world');
    expect((await files.storedFiles()).tmp).toEqual([]);
  });

  test('may have empty metadata', async () => {
    await files.start('tus-nometa', 'a.bin');
    const answer = await tus('POST', '/uploads/tus-nometa/a.bin', {
      'upload-length': 3,
      'upload-metadata': '',
    });
    expect([answer.status, String(answer.body)]).toEqual([201, '']);
  });

  test('has the digests of all its bytes, also when the process was another one for the first of them', async () => {
    const bytes = randomBytes(300_000);
    const path = await create('tus-again1', 'a.bin', bytes.length);
    await patch(path, 0, bytes.subarray(0, 100_000));
    await files.restart();
    await patch(path, 100_000, bytes.subarray(100_000, 200_000));
    await patch(path, 200_000, bytes.subarray(200_000));
    expect((await commit('tus-again1', 'a.bin')).entry?.checksum).toBe(md5(bytes));
    const { rows } = await files.sql.query('select md5, sha256 from object where id = $1', [idOf(path)]);
    const [md5Digest, sha256] = ['md5', 'sha256'].map((name) => createHash(name).update(bytes).digest('hex'));
    expect(rows).toEqual([{ md5: md5Digest, sha256 }]);
  });

  test('ends at its declared offset, ignoring bytes that a crash left after it', async () => {
    const path = await create('tus-crash1', 'a.bin', 11);
    await patch(path, 0, 'hello ');
    await files.restart();
    await appendFile(incompleteOf(path), 'never acknowledged');
    await patch(path, 6, 'world');
    expect((await commit('tus-crash1', 'a.bin')).entry?.checksum).toBe(md5('hello world'));
  });

  test('of a length declared last ends there, although its process died before it had cut the bytes', async () => {
    await files.start('tus-defer1', 'a.bin');
    const created = await tus('POST', '/uploads/tus-defer1/a.bin', { 'upload-defer-length': 1 });
    const path = String(created.headers.location);
    await patch(path, 0, 'hello ');
    const other = { 'upload-checksum': `md5 ${createHash('md5').update('other').digest('base64')}` };
    expect((await patch(path, 6, 'never acknowledged', other)).status).toBe(460);
    await files.sql.query('update upload set length = received where id = $1', [idOf(path)]);
    expect(await offsetOf(path)).toEqual([200, '6']);
    expect((await commit('tus-defer1', 'a.bin')).entry?.checksum).toBe(md5('hello '));
    expect(String((await files.get('tus-defer1', 'a.bin')).body)).toBe('hello ');
  });

  test.each(['before', 'after'])(
    'whose process died %s its bytes were moved is finished by the next request',
    async (when) => {
      const entityId = `tus-${when}-mv`;
      const path = await create(entityId, 'a.bin', 11);
      await patch(path, 0, 'hello world');
      // The state when all bytes were durable and the entry did not have them yet.
      const id = idOf(path);
      await files.sql.query(
        'update entry set object_id = null, version_id = null, mimetype = null where entity_id = $1',
        [entityId],
      );
      await files.sql.query('delete from object where id = $1', [id]);
      await files.sql.query('update upload set finished_at = null where id = $1', [id]);
      if (when === 'before') await rename(objectOf(path), incompleteOf(path));
      await removeUnreferencedBlobs(sweep(48 * HOUR_MS));

      expect(await offsetOf(path)).toEqual([200, '11']);
      expect((await commit(entityId, 'a.bin')).entry?.checksum).toBe(md5('hello world'));
      expect(String((await files.get(entityId, 'a.bin')).body)).toBe('hello world');
    },
  );

  test.each<Record<string, number>>([{ 'upload-length': 5 }, { 'upload-defer-length': 1 }])(
    'is not begun with %j by a request of more bytes than it may have, and the one before goes on',
    async (length) => {
      const entityId = `tus-more-${Object.keys(length).join().length}`;
      const path = await create(entityId, 'a.bin', 11);
      await patch(path, 0, 'hello ');
      const more = { ...CHUNK, ...length, 'content-length': 100_000_001 };
      const { request, answer } = openTus('POST', `/uploads/${entityId}/a.bin`, more);
      request.flushHeaders();
      expect(codeOf(await answer)).toEqual([413, 'upload_too_large']);
      request.destroy();
      expect(await offsetOf(path)).toEqual([200, '6']);
    },
  );

  test('is open to users who may write to its entity, and its options are public', async () => {
    const path = await create('tus-rights', 'a.bin', 11);
    const tickets = {
      none: '',
      reader: files.ticket('tus-rights', ['read_files']),
      stranger: files.ticket('tus-whole1'),
    };
    const statuses: Record<string, number[]> = {};
    for (const [who, ticket] of Object.entries(tickets)) {
      const requests = ['OPTIONS', 'HEAD', 'PATCH', 'DELETE'].map((method) =>
        tus(method, path, { ...CHUNK, 'upload-offset': '0', 'kr-ticket': ticket }),
      );
      statuses[who] = (await Promise.all(requests)).map(({ status }) => status);
    }
    expect(statuses).toEqual({
      none: [204, 401, 401, 401],
      reader: [204, 403, 403, 403],
      stranger: [204, 403, 403, 403],
    });
    expect(await offsetOf(path)).toEqual([200, '0']);
  });
});

describe('while its draft is being published', () => {
  test('an upload is locked for every method, and continues after a request without effect', async () => {
    const path = await create('tus-locked', 'a.bin', 11);
    await patch(path, 0, 'hello ');
    const seal = { publicationId: 'tus-x', epoch: 1, entityIds: ['tus-locked'] };
    await files.client.sealBuckets(seal, PACKAGES);
    files.decisions.set('tus-x', 'DECISION_UNDECIDED');
    const answers = [
      await patch(path, 6, 'world'),
      await tus('DELETE', path),
      await tus('POST', '/uploads/tus-locked/a.bin', { 'upload-length': 1 }),
    ];
    expect([...answers.map(codeOf), (await tus('HEAD', path)).status]).toEqual([
      [409, 'draft_locked'],
      [409, 'draft_locked'],
      [409, 'draft_locked'],
      409,
    ]);
    files.decisions.set('tus-x', 'DECISION_ABORTED');
    expect((await patch(path, 6, 'world')).status).toBe(204);
  });

  test('an upload that ends meanwhile waits complete, and is finished afterwards', async () => {
    const path = await create('tus-sealed', 'a.bin', 11);
    const { request, answer } = openTus('PATCH', path, {
      ...CHUNK,
      'upload-offset': 0,
      'content-length': 11,
    });
    request.write('hello ');
    await until(() => existsSync(incompleteOf(path)));
    await files.client.sealBuckets({ publicationId: 'tus-y', epoch: 1, entityIds: ['tus-sealed'] }, PACKAGES);
    files.decisions.set('tus-y', 'DECISION_UNDECIDED');
    request.end('world');
    expect(codeOf(await answer)).toEqual([409, 'draft_locked']);
    files.decisions.set('tus-y', 'DECISION_ABORTED');
    expect(await offsetOf(path)).toEqual([200, '11']);
    expect((await commit('tus-sealed', 'a.bin')).entry?.checksum).toBe(md5('hello world'));
  });

  test('and when it is published an upload is refused', async () => {
    const path = await create('tus-public', 'a.bin', 11);
    await files.client.sealBuckets({ publicationId: 'tus-z', epoch: 1, entityIds: ['tus-public'] }, PACKAGES);
    await files.client.applyDecisionToBuckets(
      { publicationId: 'tus-z', isCommitted: true, publishedIds: ['tus-public'] },
      PACKAGES,
    );
    expect(codeOf(await patch(path, 0, 'hello '))).toEqual([403, 'files_immutable']);
  });
});

describe('the lease of an upload', () => {
  const lend = (path: string, forMs: number) =>
    files.sql.query(
      `update upload set lease_holder = $2, lease_until = now() + $3 * interval '1 millisecond' where id = $1`,
      [idOf(path), randomUUID(), forMs],
    );

  test('is waited for asleep, until the time of a dead holder is over', async () => {
    const path = await create('tus-lease1', 'a.bin', 11);
    const [before, started] = [process.cpuUsage(), performance.now()];
    await lend(path, 2_000);
    expect((await patch(path, 0, 'hello ')).status).toBe(204);
    const { user, system } = process.cpuUsage(before);
    const waitedMs = performance.now() - started;
    expect(waitedMs).toBeGreaterThan(1_500);
    expect((user + system) / 1_000).toBeLessThan(waitedMs * 0.6);
  });

  test('is not waited for beyond reason', async () => {
    const path = await create('tus-lease2', 'a.bin', 11);
    await lend(path, HOUR_MS);
    const answer = await patch(path, 0, 'hello ');
    expect([codeOf(answer), answer.headers['retry-after']]).toEqual([[409, 'upload_in_use'], '1']);
  });

  test('that was lost to another process permits no further writes and reports', async () => {
    const path = await create('tus-lease3', 'a.bin', 20_000_000);
    const { request, answer } = openTus('PATCH', path, {
      ...CHUNK,
      'upload-offset': 0,
      'content-length': 900_000,
    });
    request.write('hello ');
    await until(() => existsSync(incompleteOf(path)));
    await lend(path, HOUR_MS);
    expect(codeOf(await answer)).toEqual([409, 'upload_in_use']);
    request.destroy();
    const { rows } = await files.sql.query('select received from upload where id = $1', [idOf(path)]);
    expect([rows, (await stat(incompleteOf(path))).size]).toEqual([[{ received: '0' }], 0]);
  });

  test('ends with an entry that is deleted while bytes arrive', async () => {
    const path = await create('tus-lease4', 'a.bin', 11);
    const { request, answer } = openTus('PATCH', path, {
      ...CHUNK,
      'upload-offset': 0,
      'content-length': 11,
    });
    request.write('hello ');
    await until(() => existsSync(incompleteOf(path)));
    await files.client.deleteEntries({ ticket: files.ticket('tus-lease4'), all: true }, GATEWAY);
    expect(codeOf(await answer)).toEqual([404, 'upload_not_found']);
    request.destroy();
  });
});

describe('the time of an upload', () => {
  const expire = (path: string) =>
    files.sql.query(`update upload set expires_at = now() - interval '1 second' where id = $1`, [idOf(path)]);
  const uploadExists = async (path: string) =>
    (await files.sql.query('select from upload where id = $1', [idOf(path)])).rowCount === 1;

  test('ends for one that is not finished, and its bytes with it', async () => {
    const path = await create('tus-expire', 'a.bin', 11);
    await patch(path, 0, 'hello ');
    await expire(path);
    expect(codeOf(await patch(path, 6, 'world'))).toEqual([410, 'upload_expired']);
    expect((await tus('HEAD', path)).status).toBe(410);
    expect((await deleteExpiredUploads(sweep())).count).toBe(1);
    expect([
      await uploadExists(path),
      existsSync(incompleteOf(path)),
      (await tus('HEAD', path)).status,
    ]).toEqual([false, false, 404]);
    expect((await files.list('tus-expire')).map(({ key }) => key)).toEqual(['a.bin']);
  });

  test('takes nothing from a finished one', async () => {
    const path = await create('tus-finish', 'a.bin', 11);
    await patch(path, 0, 'hello world');
    await expire(path);
    expect(await offsetOf(path)).toEqual([200, '11']);
    expect((await deleteExpiredUploads(sweep())).count).toBe(0);
    expect([await uploadExists(path), existsSync(objectOf(path))]).toEqual([false, true]);
    expect((await commit('tus-finish', 'a.bin')).entry?.checksum).toBe(md5('hello world'));
  });

  test('does not end while bytes arrive', async () => {
    const path = await create('tus-moving', 'a.bin', 11);
    const { request, answer } = openTus('PATCH', path, {
      ...CHUNK,
      'upload-offset': 0,
      'content-length': 11,
    });
    request.write('hello ');
    await until(() => existsSync(incompleteOf(path)));
    await expire(path);
    expect((await deleteExpiredUploads(sweep())).count).toBe(0);
    request.end('world');
    expect((await answer).status).toBe(204);
  });

  test('is longer with every byte', async () => {
    const path = await create('tus-longer', 'a.bin', 11);
    const soon = new Date(Date.now() + 60_000);
    await files.sql.query('update upload set expires_at = $2 where id = $1', [idOf(path), soon]);
    const { headers } = await patch(path, 0, 'hello ');
    expect(Date.parse(String(headers['upload-expires']))).toBeGreaterThan(Date.now() + HOUR_MS);
  });

  test('does not apply to bytes without an upload: the collection removes them when they are old', async () => {
    const kept = await create('tus-sweep1', 'a.bin', 11);
    await patch(kept, 0, 'hello ');
    const path = await create('tus-sweep2', 'a.bin', 11);
    await patch(path, 0, 'hello ');
    await files.sql.query(`delete from upload where entity_id = 'tus-sweep2'`);
    const old = new Date(Date.now() - 25 * HOUR_MS);
    for (const one of [kept, path]) await utimes(incompleteOf(one), old, old);
    await removeUnreferencedBlobs(sweep());
    expect([existsSync(incompleteOf(kept)), existsSync(incompleteOf(path))]).toEqual([true, false]);
  });

  test('ends with its file, and its bytes are removed at once', async () => {
    const path = await create('tus-gone1', 'a.bin', 11);
    await patch(path, 0, 'hello ');
    expect(existsSync(incompleteOf(path))).toBe(true);
    await files.client.deleteEntries({ ticket: files.ticket('tus-gone1'), all: true }, GATEWAY);
    expect(existsSync(incompleteOf(path))).toBe(false);
  });
});

describe('what can go wrong with the bytes', () => {
  test('an upload that stalls is answered, and keeps the received bytes', async () => {
    const stalling = await startFilesUnderTest({ progress: { idleMs: 1_000, minBytesPerSecond: 1 } });
    const before = files;
    files = stalling;
    try {
      const path = await create('tus-stall1', 'a.bin', 11);
      const { request, answer } = openTus('PATCH', path, {
        ...CHUNK,
        'upload-offset': 0,
        'content-length': 11,
      });
      request.write('hello ');
      expect((await answer).status).toBe(408);
      request.destroy();
      await until(async () => (await offsetOf(path))[1] === '6');
      expect((await patch(path, 6, 'world')).status).toBe(204);
    } finally {
      files = before;
      await stalling.stop();
    }
  });

  (existsSync('/dev/full') ? test : test.skip)(
    'a full disk is reported, and the upload continues when there is space',
    async () => {
      const path = await create('tus-full01', 'a.bin', 11);
      await symlink('/dev/full', incompleteOf(path));
      expect((await patch(path, 0, 'hello ')).status).toBe(507);
      await rm(incompleteOf(path));
      expect(await offsetOf(path)).toEqual([200, '0']);
      expect((await patch(path, 0, 'hello world')).status).toBe(204);
    },
  );
});
