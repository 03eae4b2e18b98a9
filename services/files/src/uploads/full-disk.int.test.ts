import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type FilesUnderTest, GATEWAY, startFilesUnderTest } from '../testing/files-under-test.ts';

const run = promisify(execFile);
const MIB = 1_048_576;
const DISK_BYTES = 24 * MIB;
/** The free bytes of the disk when it counts as full. */
const LEFT_BYTES = 2 * MIB;

/** A separate disk; the reason if this machine provides none. */
async function mountDisk(): Promise<{ folder: string } | { missing: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'full-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder]);
    return { folder };
  } catch (error) {
    await rmdir(folder);
    return { missing: error instanceof Error ? (error.message.split('\n').at(-2) ?? error.message) : '' };
  }
}

const disk = await mountDisk();
if ('missing' in disk) test.skip(`a full disk (needs the right to mount one: ${disk.missing})`, () => {});
else describe('a full disk', () => describeOn(disk.folder));

function describeOn(disk: string): void {
  const folder = join(disk, 'files');
  const filler = join(disk, 'filler');
  let files: FilesUnderTest;
  let entities = 0;
  let entityId = '';
  beforeAll(async () => {
    files = await startFilesUnderTest({}, undefined, { store: { kind: 'filesystem', folder } });
  });
  beforeEach(async () => {
    entities += 1;
    entityId = `full-disk-${entities}`;
    await files.start(entityId, 'a.bin');
    await writeFile(filler, Buffer.alloc(DISK_BYTES - LEFT_BYTES));
  });
  afterAll(async () => {
    await files?.stop();
    await run('umount', [disk]);
    await rmdir(disk);
  });

  const stored = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    return names.filter((name) => name !== 'store-id');
  };
  const reservations = async () =>
    (await files.sql.query('select count(*)::int as n from reservation')).rows[0].n;
  const isReady = async () => (await fetch(`http://127.0.0.1:${files.service.healthPort}/readyz`)).ok;
  const storeFull = {
    status: 507,
    message: 'There is not enough space to store the file.',
    code: 'insufficient_storage',
  };

  function tus(method: string, path: string, headers: Record<string, string>, body?: Buffer) {
    return fetch(`http://127.0.0.1:${files.service.contentPort}${path}`, {
      method,
      headers: { 'kr-ticket': files.ticket(entityId), 'tus-resumable': '1.0.0', ...headers },
      ...(body === undefined ? {} : { body: new Uint8Array(body) }),
    });
  }
  const create = async (bytes: number) => {
    const created = await tus('POST', `/uploads/${entityId}/a.bin`, { 'upload-length': String(bytes) });
    return new URL(created.headers.get('location') ?? '', 'http://any').pathname;
  };
  const CHUNK = 'application/offset+octet-stream';
  const patch = (path: string, from: number, bytes: Buffer, headers: Record<string, string> = {}) =>
    tus('PATCH', path, { 'upload-offset': String(from), 'content-type': CHUNK, ...headers }, bytes);

  /** After space was freed: refused bytes are accepted, and returned byte for byte. */
  async function goesOn(bytes: Buffer, send: () => Promise<{ status: number }>, accepted: number) {
    expect(await isReady()).toBe(true);
    await rm(filler);
    expect((await send()).status).toBe(accepted);
    await files.client.commitUpload({ ticket: files.ticket(entityId), key: 'a.bin' }, GATEWAY);
    expect((await files.get(entityId, 'a.bin')).body.equals(bytes)).toBe(true);
    await files.client.deleteEntries({ ticket: files.ticket(entityId), all: true }, GATEWAY);
    await rm(join(folder, 'objects'), { recursive: true });
    await files.restart();
  }

  const nothingIsLeft = () =>
    until(async () => (await stored()).length === 0 && (await reservations()) === 0);

  test.each([['content-length'], ['transfer-encoding']])(
    'is reported to a PUT with %s, which leaves nothing and is accepted when there is space',
    async (header) => {
      const bytes = randomBytes(5 * MIB);
      const put = () =>
        files.put(entityId, 'a.bin', bytes, {
          [header]: header === 'content-length' ? String(bytes.length) : 'chunked',
        });
      const refused = await put();
      expect([refused.status, JSON.parse(String(refused.body))]).toEqual([507, storeFull]);
      await nothingIsLeft();
      await goesOn(bytes, put, 200);
    },
  );

  test('is reported to several PUTs at once, while fitting ones are stored', async () => {
    await files.start(entityId, 'small', 'b.bin', 'c.bin');
    const bytes = randomBytes(5 * MIB);
    const large = await Promise.all(['b.bin', 'c.bin'].map((key) => files.put(entityId, key, bytes)));
    expect(large.map(({ status }) => status)).toEqual([507, 507]);
    expect((await files.put(entityId, 'small', 'it fits')).status).toBe(200);
    expect((await stored()).length).toBe(1);
    await files.client.deleteEntries({ ticket: files.ticket(entityId), keys: ['small'] }, GATEWAY);
    await goesOn(bytes, () => files.put(entityId, 'a.bin', bytes), 200);
  });

  test('is reported to the creation of a resumable upload with its bytes, which leaves nothing', async () => {
    const bytes = randomBytes(5 * MIB);
    const send = () =>
      tus(
        'POST',
        `/uploads/${entityId}/a.bin`,
        { 'upload-length': String(bytes.length), 'content-type': CHUNK },
        bytes,
      );
    const refused = await send();
    expect([refused.status, await refused.json()]).toEqual([507, storeFull]);
    await nothingIsLeft();
    await goesOn(bytes, send, 201);
  });

  test('is reported to a chunk, and the upload continues from the stored bytes when there is space', async () => {
    const bytes = randomBytes(20 * MIB);
    const path = await create(bytes.length);
    expect((await patch(path, 0, bytes.subarray(0, MIB))).status).toBe(204);
    const refused = await patch(path, MIB, bytes.subarray(MIB));
    expect([refused.status, await refused.json()]).toEqual([507, storeFull]);
    const offset = Number((await tus('HEAD', path, {})).headers.get('upload-offset'));
    expect([offset >= MIB, offset <= LEFT_BYTES]).toEqual([true, true]);
    await goesOn(bytes, () => patch(path, offset, bytes.subarray(offset)), 204);
  });

  test('is reported to a chunk with a checksum, of which nothing stays', async () => {
    const bytes = randomBytes(5 * MIB);
    const path = await create(bytes.length);
    const checksum = { 'upload-checksum': `sha1 ${await sha1(bytes)}` };
    const refused = await patch(path, 0, bytes, checksum);
    expect([refused.status, await refused.json()]).toEqual([507, storeFull]);
    expect((await tus('HEAD', path, {})).headers.get('upload-offset')).toBe('0');
    await goesOn(bytes, () => patch(path, 0, bytes, checksum), 204);
  });

  test('without an id serves its objects, and gets the id when there is space', async () => {
    await files.upload(entityId, 'old.txt', 'from before');
    await rm(join(folder, 'store-id'));
    await files.sql.query('update store_identity set claimed_at = null');
    await expect(writeFile(`${filler}-too`, Buffer.alloc(DISK_BYTES))).rejects.toThrow('ENOSPC');
    await files.restart();
    const found = await files.get(entityId, 'old.txt');
    expect([found.status, String(found.body), await isReady()]).toEqual([200, 'from before', true]);
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
    expect(await readdir(folder)).not.toContain('store-id');
    await rm(`${filler}-too`);
    expect([await isReady(), await readdir(folder)]).toEqual([true, expect.arrayContaining(['store-id'])]);
    await files.client.deleteEntries({ ticket: files.ticket(entityId), all: true }, GATEWAY);
    await rm(join(folder, 'objects'), { recursive: true });
    await files.sql.query('delete from object');
    await files.restart();
  });

  test('does not prevent the deletion of an upload, which frees space', async () => {
    const path = await create(20 * MIB);
    expect((await patch(path, 0, randomBytes(20 * MIB))).status).toBe(507);
    expect((await tus('DELETE', path, {})).status).toBe(204);
    await nothingIsLeft();
    expect((await files.put(entityId, 'a.bin', randomBytes(MIB))).status).toBe(200);
    await rm(filler);
  });
}

async function sha1(bytes: Buffer): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-1', new Uint8Array(bytes))).toString('base64');
}
