import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type Entry,
  fromBufferPromise,
  fromRandomAccessReaderPromise,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl';
import { type Answer, type FilesUnderTest, startFilesUnderTest } from '../testing/files-under-test.ts';

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest();
});
afterAll(() => files.stop());

async function openArchive(
  entityId: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<IncomingMessage> {
  const request = httpRequest({
    port: files.service.contentPort,
    method,
    path: `/archive/${entityId}`,
    headers: { 'kr-ticket': files.ticket(entityId, ['read_files']), ...headers },
    agent: false,
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

async function archive(
  entityId: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  const response = await openArchive(entityId, headers, method);
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

/** Every file of an archive, with its bytes verified against the archive's CRC-32. */
async function unzipped(zip: ZipFile): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const entry of zip.eachEntry()) found[entry.fileName] = String(await bytesOf(zip, entry));
  return found;
}

async function bytesOf(zip: ZipFile, entry: Entry): Promise<Buffer> {
  const bytes = await buffer(await zip.openReadStreamPromise(entry));
  expect([entry.fileName, crc32(bytes)]).toEqual([entry.fileName, entry.crc32]);
  return bytes;
}

/** Reads an archive where it is, by ranges. */
class RemoteArchive extends RandomAccessReader {
  readonly #entityId: string;

  constructor(entityId: string) {
    super();
    this.#entityId = entityId;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const bytes = new PassThrough();
    openArchive(this.#entityId, { range: `bytes=${start}-${end - 1}` }).then(
      (response) => response.pipe(bytes),
      (error) => bytes.destroy(error),
    );
    return bytes;
  }
}

describe('an archive', () => {
  const CONTENTS = {
    'a.txt': 'first',
    'empty.bin': '',
    'ação – 名前 😀.csv': 'ü;é\n'.repeat(1_000),
    '-rf x': 'no option',
  };
  beforeAll(async () => {
    for (const [key, bytes] of Object.entries(CONTENTS)) await files.upload('all-0000001', key, bytes);
    await files.start('all-0000001', 'pending.txt', 'uploaded.txt');
    await files.put('all-0000001', 'uploaded.txt', 'not committed');
  });

  test('has all completed files under their names, and a declared length', async () => {
    const { status, headers, body } = await archive('all-0000001');
    expect({ status, headers }).toEqual({
      status: 200,
      headers: {
        'accept-ranges': 'bytes',
        connection: 'close',
        'content-disposition': 'attachment; filename=all-0000001.zip',
        'content-length': String(body.length),
        'content-security-policy': "default-src 'none'; sandbox",
        'content-type': 'application/zip',
        date: expect.any(String),
        etag: expect.stringMatching(/^"zip:[0-9a-f]{32}"$/),
        'x-content-type-options': 'nosniff',
        'x-download-options': 'noopen',
        'x-frame-options': 'SAMEORIGIN',
        'x-permitted-cross-domain-policies': 'none',
        'x-xss-protection': '1; mode=block',
      },
    });
    expect(await unzipped(await fromBufferPromise(body))).toEqual(CONTENTS);
    const head = await archive('all-0000001', {}, 'HEAD');
    expect([head.status, head.headers, head.body.length]).toEqual([
      200,
      { ...headers, date: expect.any(String) },
      0,
    ]);
  });

  test('is the same at every request, and resumes from any interruption', async () => {
    const { headers, body } = await archive('all-0000001');
    const etag = String(headers.etag);
    for (let from = 0; from < body.length; from += 97) {
      const rest = await archive('all-0000001', { range: `bytes=${from}-`, 'if-range': etag });
      expect([rest.status, rest.headers['content-range']]).toEqual([
        206,
        `bytes ${from}-${body.length - 1}/${body.length}`,
      ]);
      expect(rest.body.equals(body.subarray(from))).toBe(true);
    }
    expect((await archive('all-0000001', { 'if-none-match': etag })).status).toBe(304);
    const outside = await archive('all-0000001', { range: `bytes=${body.length}-` });
    expect([outside.status, outside.headers['content-range']]).toEqual([416, `bytes */${body.length}`]);
    const parts = await archive('all-0000001', { range: 'bytes=0-3,-22' });
    expect([parts.status, parts.body.equals(body)]).toEqual([200, true]);
  });

  test('of other files is another one, which no old part is completed with', async () => {
    await files.upload('all-0000002', 'a', 'one');
    const before = await archive('all-0000002');
    const range = { range: 'bytes=10-', 'if-range': String(before.headers.etag) };
    await files.upload('all-0000002', 'b', 'two');
    const after = await archive('all-0000002', range);
    expect([after.status, after.headers.etag === before.headers.etag]).toEqual([200, false]);
    expect(await unzipped(await fromBufferPromise(after.body))).toEqual({ a: 'one', b: 'two' });
    const today = { range: 'bytes=10-', 'if-range': new Date().toUTCString() };
    expect((await archive('all-0000002', today)).status).toBe(200);
  });

  test('keeps names apart that some file systems take for one', async () => {
    for (const key of ['read.me', 'READ.ME', '\u00fc', 'u\u0308'])
      await files.upload('all-0000003', key, key);
    const { body } = await archive('all-0000003');
    expect(await unzipped(await fromBufferPromise(body))).toEqual({
      'read.me': 'read.me',
      'READ (2).ME': 'READ.ME',
      '\u00fc': '\u00fc',
      'u\u0308 (2)': 'u\u0308',
    });
  });

  test('of no files is an archive all the same', async () => {
    await files.start('all-0000004', 'pending');
    const { status, body } = await archive('all-0000004');
    expect([status, body.length, await unzipped(await fromBufferPromise(body))]).toEqual([200, 22, {}]);
  });

  test.each([
    [
      'another entity’s ticket',
      { 'kr-ticket': () => files.ticket('all-0000002', ['read_files']) },
      'GET',
      403,
    ],
    ['a ticket for links', { 'kr-ticket': () => files.ticket('all-0000001', ['manage_links']) }, 'GET', 403],
    ['no ticket', { 'kr-ticket': () => '' }, 'HEAD', 401],
    ['PUT', {}, 'PUT', 405],
    ['POST', {}, 'POST', 405],
  ])('is not sent for %s', async (_, conditions, method, status) => {
    const headers = Object.fromEntries(Object.entries(conditions).map(([name, value]) => [name, value()]));
    expect((await archive('all-0000001', headers, method)).status).toBe(status);
  });

  test.each(['', '/', '/a/b', '/%ff'])('is not found at /archive%s', async (path) => {
    const response = await fetch(`http://127.0.0.1:${files.service.contentPort}/archive${path}`, {
      headers: { 'kr-ticket': files.ticket('a') },
    });
    expect(response.status).toBe(404);
  });

  test('whose bytes are missing is aborted instead of ending early', async () => {
    await files.upload('gone-000001', 'a', randomBytes(1_000));
    const entry = await files.upload('gone-000001', 'b', randomBytes(1_000));
    await rm(objectPath(entry?.fileId ?? ''));
    await expect(archive('gone-000001')).rejects.toThrow('aborted');
  });
});

describe('an archive of more than four gigabytes', () => {
  const LARGE = 5 * 2 ** 30;

  beforeAll(async () => {
    await files.upload('large-00001', 'before.txt', 'before');
    await addSparseFile('large-00001', 'large.bin', LARGE);
    await files.upload('large-00001', 'after.txt', 'after');
  });

  async function addSparseFile(entityId: string, key: string, sizeBytes: number): Promise<void> {
    const id = randomUUID();
    await mkdir(join(objectPath(id), '..'), { recursive: true });
    const file = await open(objectPath(id), 'wx');
    await file.truncate(sizeBytes);
    await file.close();
    await files.sql.query(
      `insert into object (id, size, md5, sha256, crc32, created_at)
       values ($1, $2, repeat('0', 32), repeat('0', 64), 7, now())`,
      [id, sizeBytes],
    );
    await files.sql.query(
      `insert into entry (entity_id, key, position, state, object_id, version_id, mimetype, created_at, updated_at)
       values ($1, $2, 2, 'completed', $3, $3, 'application/octet-stream', now(), now())`,
      [entityId, key, id],
    );
  }

  test('is read from a distance without its bytes', async () => {
    const { headers } = await archive('large-00001', {}, 'HEAD');
    const sizeBytes = Number(headers['content-length']);
    expect(sizeBytes).toBeGreaterThan(LARGE);
    const reader = new RemoteArchive('large-00001');
    const zip = await fromRandomAccessReaderPromise(reader, sizeBytes, { autoClose: false });
    const entries: Entry[] = [];
    for await (const entry of zip.eachEntry()) entries.push(entry);
    expect(entries.map(({ fileName, uncompressedSize }) => [fileName, uncompressedSize])).toEqual([
      ['before.txt', 6],
      ['large.bin', LARGE],
      ['after.txt', 5],
    ]);
    expect(entries[2]?.relativeOffsetOfLocalHeader).toBeGreaterThan(LARGE);
    for (const [index, text] of [
      [0, 'before'],
      [2, 'after'],
    ] as const) {
      const entry = entries[index];
      if (entry === undefined) throw new Error('an entry is missing');
      expect(String(await bytesOf(zip, entry))).toBe(text);
    }
  });

  test('goes on behind them', async () => {
    const from = 2 ** 32 - 10;
    const part = await archive('large-00001', { range: `bytes=${from}-${from + 99_999}` });
    expect([part.status, part.body.length, part.body.every((byte) => byte === 0)]).toEqual([
      206,
      100_000,
      true,
    ]);
  });
});

function objectPath(id: string): string {
  return join(files.storageDir, 'objects', id.slice(0, 2), id.slice(2, 4), id);
}
