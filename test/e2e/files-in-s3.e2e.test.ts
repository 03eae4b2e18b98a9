import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openS3, type TestBucket, type TestS3, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import pg from 'pg';
import { Upload } from 'tus-js-client';
import type { Entity, FileEntry, FilesListing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { insistentClient } from './story/persistent-client.ts';
import { link, publish, upload } from './story/stories.ts';

const MIB = 1_048_576;
const md5 = (bytes: Buffer) => `md5:${createHash('md5').update(bytes).digest('hex')}`;

const s3 = await openS3();
if ('missing' in s3) test.skip(`files in S3 (${s3.missing})`, () => {});
else describe('with the bytes of files in S3', () => describeOn(s3));

function describeOn(server: TestS3): void {
  let bucket: TestBucket;
  let system: TestSystem;
  let author: HttpClient;
  let draft: Entity;
  let published: Entity;
  const put = randomBytes(9 * MIB);
  const resumed = randomBytes(21 * MIB);

  beforeAll(async () => {
    bucket = await server.freshBucket();
    system = await startSystem({ environment: server.environment(bucket.name) });
    author = insistentClient(httpClient(system.baseUrl, system.token));
    draft = await author.sure<Entity>('POST', '/records', {
      json: recordDocument('In a bucket', { withFiles: true }),
    });
  });
  afterAll(async () => {
    await system?.stop();
    await bucket?.drop();
    await server.stop();
  });

  /** Of all but the mark of the store. */
  const storedKeys = async () => (await bucket.keys()).filter((key) => key !== 'store-id');

  async function killFiles(): Promise<void> {
    const before = system.pid('files');
    system.kill('files', 'SIGKILL');
    await until(() => ![undefined, before].includes(system.pid('files')));
  }

  async function start(key: string): Promise<FileEntry> {
    const { entries } = await author.sure<FilesListing>('POST', link(draft, 'files'), { json: [{ key }] });
    const entry = entries.find((one) => one.key === key);
    if (entry === undefined) throw new Error(`${key} was not started`);
    return entry;
  }

  test('a file that is put is there, also when the files service was killed in the middle of it', async () => {
    const entry = await start('put.bin');
    let killing: Promise<void> | undefined;
    async function* pieces() {
      for (let at = 0; at < put.length; at += MIB) {
        if (at === 4 * MIB) {
          killing = killFiles();
          await killing;
        }
        yield new Uint8Array(put.subarray(at, at + MIB));
      }
    }
    const body = ReadableStream.from(pieces());
    const headers = { authorization: `Bearer ${system.token}`, 'content-type': 'application/octet-stream' };
    const cut = fetch(link(entry, 'content'), { method: 'PUT', headers, body, duplex: 'half' });
    const [outcome] = await Promise.allSettled([cut]);
    expect(killing).toBeDefined();
    await killing;
    if (outcome.status === 'fulfilled') expect(outcome.value.ok).toBe(false);
    expect(await storedKeys()).toEqual([]);

    await author.sure('PUT', link(entry, 'content'), { bytes: put });
    const { checksum } = await author.sure<FileEntry>('POST', link(entry, 'commit'));
    expect([checksum, (await storedKeys()).length]).toEqual([md5(put), 1]);
  });

  test('an upload goes on where it was when the files service was killed', async () => {
    const entry = await start('resumed.bin');
    const offsets: number[] = [];
    let killing: Promise<void> | undefined;
    await new Promise<void>((resolve, reject) => {
      new Upload(resumed, {
        endpoint: link(entry, 'tus'),
        headers: { authorization: `Bearer ${system.token}` },
        chunkSize: 5 * MIB,
        retryDelays: Array.from({ length: 600 }, () => 250),
        onProgress: (bytes) => {
          if (bytes > 12 * MIB) killing ??= killFiles();
        },
        onChunkComplete: (_size, accepted) => void offsets.push(accepted),
        onError: reject,
        onSuccess: () => resolve(),
      }).start();
    });
    await killing;
    expect(killing).toBeDefined();
    expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b));
    const { checksum } = await author.sure<FileEntry>('POST', link(entry, 'commit'));
    expect(checksum).toBe(md5(resumed));
    expect((await storedKeys()).filter((key) => key.startsWith('incomplete/'))).toEqual([]);
  });

  test('what is published is read by everybody, whole and in part, and imported into the next version', async () => {
    published = await publish(author, draft);
    const anonymous = httpClient(system.baseUrl);
    const files = `${link(published, 'self')}/files`;
    const whole = await anonymous.call('GET', `${files}/resumed.bin/content`);
    const part = await anonymous.call('GET', `${files}/resumed.bin/content`, {
      headers: { range: `bytes=${8 * MIB - 10}-${16 * MIB + 9}` },
    });
    expect([whole.status, md5(whole.bytes), part.status, md5(part.bytes)]).toEqual([
      200,
      md5(resumed),
      206,
      md5(resumed.subarray(8 * MIB - 10, 16 * MIB + 10)),
    ]);

    const before = await storedKeys();
    const next = await author.sure<Entity>('POST', link(published, 'versions'));
    await author.sure('POST', `/records/${next.id}/draft/actions/files-import`);
    const imported = await author.call('GET', `${link(next, 'files')}/put.bin/content`);
    expect([md5(imported.bytes), await storedKeys()]).toEqual([md5(put), before]);

    const extra = await upload(author, next, 'extra.txt', Buffer.from('only for a while'));
    expect((await storedKeys()).length).toBe(before.length + 1);
    await author.sure('DELETE', link(extra, 'self'));
    await forgetFor('3 days');
    await killFiles();
    await until(async () => (await storedKeys()).length === before.length);
    expect(await storedKeys()).toEqual(before);
  });

  test('no byte lies anywhere else', async () => {
    const entries = await readdir(system.filesDir, { recursive: true, withFileTypes: true }).catch(() => []);
    expect(entries.filter((entry) => entry.isFile())).toEqual([]);
  });

  /** Makes unreferenced objects old enough for the collection; the service collects when it starts. */
  async function forgetFor(time: string): Promise<void> {
    const client = new pg.Client(system.databaseUrls.files);
    await client.connect();
    try {
      const { rowCount } = await client.query(
        `update object set unreferenced_at = now() - $1::interval
         where not exists (select from entry where object_id = object.id)`,
        [time],
      );
      expect(rowCount).toBe(1);
    } finally {
      await client.end();
    }
  }
}
