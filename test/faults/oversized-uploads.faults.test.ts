import { readdir } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, FileEntry, FilesListing } from '../e2e/story/answers.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { link } from '../e2e/story/stories.ts';
import { scaled } from './scale.ts';

const MIB = 1_048_576;
const LIMIT = scaled(8, 1_024) * MIB;
/** Ten times the limit: it must be rejected. */
const SENT = 10 * LIMIT;
/** Bytes that may be in the buffers of sockets and processes when the limit is reached. */
const UNDER_WAY = 32 * MIB;
const ZEROS = Buffer.alloc(MIB);
const PATIENCE_MS = scaled(300_000, 1_800_000);

let system: SharedSystem;
let author: HttpClient;
let draft: Entity;
beforeAll(async () => {
  system = await sharedSystem();
  // The draft has room for one file of the greatest size: what is left of another would keep it out.
  await system.relaunch('files', { MAX_FILE_BYTES: String(LIMIT), MAX_BYTES_PER_ENTITY: String(LIMIT) });
  author = httpClient(system.baseUrl, system.token);
  draft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Too much', { withFiles: true }),
  });
  for (const name of await storedFiles()) deleted.add(name);
});
afterAll(() => system?.stop());

async function started(key: string): Promise<FileEntry> {
  const { entries } = await author.sure<FilesListing>('POST', link(draft, 'files'), { json: [{ key }] });
  const entry = entries.find((one) => one.key === key);
  if (entry === undefined) throw new Error(`${key} was not started`);
  return entry;
}

/** Sends zeros until all are sent or somebody answers. */
async function sendZeros(
  url: string,
  bytes: number,
  options: RequestOptions,
): Promise<{ status: number; body: Buffer; sent: number }> {
  const headers = { authorization: `Bearer ${system.token}`, ...options.headers };
  const request = httpRequest(url, { agent: false, ...options, headers });
  let sent = 0;
  let isAnswered = false;
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    // After the answer, the connection of a client that is still sending is closed.
    request.on('error', (error) => isAnswered || reject(error));
  });
  const answer = answered.then(async (response) => {
    isAnswered = true;
    return { status: response.statusCode ?? 0, body: await buffer(response) };
  });
  const drained = () =>
    Promise.race([answer, new Promise<void>((resolve) => request.once('drain', resolve))]);
  request.flushHeaders();
  while (sent < bytes && !isAnswered) {
    const piece = ZEROS.subarray(0, Math.min(MIB, bytes - sent));
    sent += piece.length;
    if (!request.write(piece)) await drained();
  }
  // A client that has sent nothing waits for 100 Continue.
  if (!isAnswered && sent > 0) request.end();
  const heard = await answer;
  request.destroy();
  return { ...heard, sent };
}

/** Bytes of earlier tests, and those deleted again: garbage collection removes them later. */
const deleted = new Set<string>();

async function storedFiles(): Promise<string[]> {
  const entries = await readdir(system.filesDir, { recursive: true, withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  return names.filter((name) => !deleted.has(name));
}

const PUT = { method: 'PUT' };
const TUS = { 'tus-resumable': '1.0.0' };
const tooLarge = { status: 413, code: expect.stringMatching(/too_large$|quota_exceeded$/) };

/** No byte is kept, and as much as is allowed is taken afterwards: the reserved bytes are free again. */
async function nothingIsLeft(): Promise<void> {
  await until(async () => (await storedFiles()).length === 0, { what: 'no byte of it in the store' });
  const whole = await started('as much as is allowed');
  const content = link(whole, 'content');
  const put = () => sendZeros(content, LIMIT, { ...PUT, headers: { 'content-length': LIMIT } });
  await until(async () => (await put()).status === 200, {
    what: 'room for the greatest file',
    timeoutMs: PATIENCE_MS,
  });
  for (const name of await storedFiles()) deleted.add(name);
  await author.sure('DELETE', link(whole, 'self'));
}

describe('ten times more than a file may have', () => {
  test(
    'declared is refused before a byte of it is read',
    async () => {
      const entry = await started('declared');
      const { status, body } = await sendZeros(link(entry, 'content'), 0, {
        ...PUT,
        headers: { 'content-length': SENT },
      });
      expect({ ...JSON.parse(String(body)), status }).toMatchObject(tooLarge);
      await nothingIsLeft();
    },
    PATIENCE_MS,
  );

  test(
    'not declared is refused when the limit is passed',
    async () => {
      const entry = await started('undeclared');
      const { status, body, sent } = await sendZeros(link(entry, 'content'), SENT, PUT);
      expect({ ...JSON.parse(String(body)), status }).toMatchObject(tooLarge);
      expect([sent > LIMIT, sent <= LIMIT + UNDER_WAY]).toEqual([true, true]);
      await nothingIsLeft();
    },
    PATIENCE_MS,
  );

  test(
    'is refused as a resumable upload with a declared length, or after it became too long',
    async () => {
      const entry = await started('resumable');
      const uploads = link(entry, 'tus');
      const declared = await author.call<{ code?: string }>('POST', uploads, {
        headers: { ...TUS, 'upload-length': String(SENT) },
      });
      expect({ ...declared.body, status: declared.status }).toMatchObject({ status: 413 });
      const begun = await author.call('POST', uploads, { headers: { ...TUS, 'upload-defer-length': '1' } });
      const upload = begun.headers.get('location') ?? '';
      const { status, sent } = await sendZeros(upload, SENT, {
        method: 'PATCH',
        headers: { ...TUS, 'upload-offset': 0, 'content-type': 'application/offset+octet-stream' },
      });
      expect([status, sent > LIMIT, sent <= LIMIT + UNDER_WAY]).toEqual([413, true, true]);
      await author.sure('DELETE', upload, { headers: TUS });
      await author.sure('DELETE', link(entry, 'self'));
      await nothingIsLeft();
    },
    PATIENCE_MS,
  );
});
