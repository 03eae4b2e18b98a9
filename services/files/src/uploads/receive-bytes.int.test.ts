import { createHash, randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import type { ContentHash } from '../blob/content-hash.ts';
import { contentHashes } from '../blob/content-hash.ts';
import { type ContentServer, startContentServer } from '../content-server.ts';
import { type FilesContext, openContext } from '../context.ts';
import { endThreadsOf } from '../testing/ended-threads.ts';
import { type FilesUnderTest, GATEWAY, PACKAGES, startFilesUnderTest } from '../testing/files-under-test.ts';
import { runningHashes } from './running-hashes.ts';

let files: FilesUnderTest;
let context: FilesContext;
/** Beside that of the service, on the same database and bytes: its hashes are observed. */
let server: ContentServer;
/** The hashes that a test has started, and all hashes that are not dropped. */
let newHashes: ContentHash[] = [];
const inUse = new Set<ContentHash>();

beforeAll(async () => {
  files = await startFilesUnderTest();
  const logger = createLogger('files', { write: () => {} });
  context = await openContext(files.config, logger);
  const newHash = contentHashes(logger);
  const observed = (expectedBytes?: number) => {
    const hash = counted(newHash(expectedBytes));
    newHashes.push(hash);
    return hash;
  };
  server = await startContentServer(
    { ...context, newHash: observed, hashes: runningHashes(observed) },
    { host: '127.0.0.1', port: 0 },
  );
});
afterEach(() => {
  newHashes = [];
});
afterAll(async () => {
  await server.stop(0);
  await context.close();
  await files.stop();
});

function counted(hash: ContentHash): ContentHash {
  const observed: ContentHash = {
    ...hash,
    copy: () => counted(hash.copy()),
    drop: () => {
      inUse.delete(observed);
      hash.drop();
    },
  };
  inUse.add(observed);
  return observed;
}

/** More than are hashed without a thread, and more than one chunk of a request. */
const BYTES = randomBytes(1_500_000);

type Body = NonNullable<RequestInit['body']>;

async function tus(method: string, path: string, headers: Record<string, string>, body?: Body) {
  const [, , entityId = ''] = path.split('/');
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { 'kr-ticket': files.ticket(entityId), 'tus-resumable': '1.0.0', ...headers },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  });
  await answer.arrayBuffer();
  return answer;
}

/** Gives the path of the upload. */
async function create(entityId: string, length: Record<string, string>): Promise<string> {
  await files.start(entityId, 'a.bin');
  return createAgain(entityId, length);
}

async function createAgain(entityId: string, length: Record<string, string>): Promise<string> {
  const { status, headers } = await tus('POST', `/uploads/${entityId}/a.bin`, length);
  expect(status).toBe(201);
  return headers.get('location') ?? '';
}

const OF_ALL = { 'upload-length': String(BYTES.length) };

async function patch(path: string, offset: number, body: Body): Promise<number> {
  const type = { 'content-type': 'application/offset+octet-stream' };
  return (await tus('PATCH', path, { ...type, 'upload-offset': String(offset) }, body)).status;
}

const part = (from: number, to?: number): Body => BYTES.subarray(from, to);

/** The digests of the stored content, and of the bytes that were sent. */
async function digests(entityId: string) {
  await files.client.commitUpload({ ticket: files.ticket(entityId), key: 'a.bin' }, GATEWAY);
  const { rows } = await files.sql.query(
    'select o.md5, o.sha256 from object o join entry e on e.object_id = o.id where e.entity_id = $1',
    [entityId],
  );
  const [md5, sha256] = ['md5', 'sha256'].map((name) => createHash(name).update(BYTES).digest('hex'));
  return { stored: rows, sent: [{ md5, sha256 }] };
}

/** The latest hash, once a whole chunk of the upload has passed it. */
async function hashUnderWay(path: string): Promise<ContentHash> {
  const file = join(files.storageDir, 'incomplete', path.split('/').at(-1) ?? '');
  await until(async () => (await stat(file).catch(() => undefined))?.size ?? 0);
  const hash = newHashes.at(-1);
  if (hash === undefined) throw new Error('there is no hash');
  return hash;
}

test('an upload goes on whose hash was lost between two requests, and is read once more at its end', async () => {
  const path = await create('hash-lost1', OF_ALL);
  expect(await patch(path, 0, part(0, 500_000))).toBe(204);
  await endThreadsOf(await hashUnderWay(path));
  expect(await patch(path, 500_000, part(500_000, 1_000_000))).toBe(204);
  expect(await patch(path, 1_000_000, part(1_000_000))).toBe(204);
  const { stored, sent } = await digests('hash-lost1');
  expect([stored, inUse.size, newHashes.length]).toEqual([sent, 0, 2]);
});

test('a request whose hash is lost while its bytes arrive continues', async () => {
  const path = await create('hash-lost2', OF_ALL);
  async function* body() {
    yield BYTES.subarray(0, 800_000);
    await endThreadsOf(await hashUnderWay(path));
    yield BYTES.subarray(800_000);
  }
  expect(await patch(path, 0, body())).toBe(204);
  const { stored, sent } = await digests('hash-lost2');
  expect([stored, inUse.size, newHashes.length]).toEqual([sent, 0, 2]);
});

test('an upload whose hash is lost after its last byte is finished by the next request', async () => {
  const path = await create('hash-lost3', OF_ALL);
  async function* body() {
    yield BYTES.subarray(0, 800_000);
    await hashUnderWay(path);
    await files.client.sealBuckets({ publicationId: 'hash', epoch: 1, entityIds: ['hash-lost3'] }, PACKAGES);
    files.decisions.set('hash', 'DECISION_UNDECIDED');
    yield BYTES.subarray(800_000);
  }
  expect(await patch(path, 0, body())).toBe(409);
  files.decisions.set('hash', 'DECISION_ABORTED');
  for (const hash of newHashes) await endThreadsOf(hash);
  expect((await tus('HEAD', path, {})).headers.get('upload-offset')).toBe(String(BYTES.length));
  const { stored, sent } = await digests('hash-lost3');
  expect([stored, inUse.size, newHashes.length]).toEqual([sent, 0, 2]);
});

test('an upload that another one replaces leaves no hash', async () => {
  const before = inUse.size;
  const path = await create('hash-left2', OF_ALL);
  expect(await patch(path, 0, part(0, 500_000))).toBe(204);
  expect(inUse.size).toBe(before + 1);
  await createAgain('hash-left2', OF_ALL);
  expect(inUse.size).toBe(before);
});

async function put(entityId: string, body: Body): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/content/${entityId}/a.bin`, {
    method: 'PUT',
    headers: { 'kr-ticket': files.ticket(entityId) },
    body,
    duplex: 'half',
  });
  return answer.status;
}

test('a direct upload has the digests of its bytes, and of an empty one', async () => {
  await files.start('put-hash-1', 'a.bin');
  expect(await put('put-hash-1', BYTES)).toBe(200);
  const { stored, sent } = await digests('put-hash-1');
  expect([stored, inUse.size]).toEqual([sent, 0]);
  const digestsOf = async (entityId: string, body: string) => {
    await files.start(entityId, 'a.bin');
    expect(await put(entityId, body)).toBe(200);
    const { rows } = await files.sql.query(
      'select size::int, md5, sha256, crc32::bigint from object where owner_id = $1',
      [files.ownerOf(entityId)],
    );
    return rows;
  };
  expect(await digestsOf('put-hash-2', 'hello world\n')).toEqual([
    {
      size: 12,
      md5: '6f5902ac237024bdd0c176cb93063dc4',
      sha256: 'a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447',
      crc32: String(0xaf083b2d),
    },
  ]);
  expect(await digestsOf('put-hash-3', '')).toEqual([
    {
      size: 0,
      md5: 'd41d8cd98f00b204e9800998ecf8427e',
      sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      crc32: '0',
    },
  ]);
});

test('a direct upload whose hash is lost behind its last byte is refused as retryable and leaves nothing', async () => {
  await files.start('put-lost-1', 'a.bin');
  const before = await files.storedFiles();
  async function* body() {
    yield BYTES;
    await until(async () => (await files.storedFiles()).tmp.length > before.tmp.length);
    for (const hash of newHashes) await endThreadsOf(hash);
  }
  expect(await put('put-lost-1', body())).toBe(503);
  expect([newHashes.length, inUse.size, await files.storedFiles()]).toEqual([1, 0, before]);
});
