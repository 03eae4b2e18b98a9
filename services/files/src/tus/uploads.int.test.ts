import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import { filesystemBlobStore } from '../blob/filesystem-blob-store.ts';
import { connectDatabase, type Database } from '../store/prisma.ts';
import { sweepOrphans } from '../sweep/sweep-orphans.ts';
import { sweepUploads } from '../sweep/sweep-uploads.ts';
import {
  type Answer,
  type FilesUnderTest,
  GATEWAY,
  startFilesUnderTest,
} from '../testing/files-under-test.ts';

let files: FilesUnderTest;
let database: Database;
beforeAll(async () => {
  files = await startFilesUnderTest({ maxFileBytes: 1_000_000 });
  database = connectDatabase(files.config.databaseUrl, 2);
});
afterAll(async () => {
  await database.$disconnect();
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

const idOf = (path: string) => path.split('/').at(-1) ?? '';

describe('a resumable upload', () => {
  test('becomes the content of its entry when all bytes have come', async () => {
    const path = await create('tus-000001', 'a.bin', 11);
    expect((await patch(path, 0, 'hello ')).status).toBe(204);
    expect(await offsetOf(path)).toEqual([200, '6']);
    expect((await patch(path, 6, 'world')).headers['upload-offset']).toBe('11');
    const { entry } = await commit('tus-000001', 'a.bin');
    expect([entry?.checksum, entry?.size, entry?.fileId]).toEqual([
      'md5:5eb63bbbe01eeed093cb22bb8f5acdc3',
      '11',
      idOf(path),
    ]);
    expect(String((await files.get('tus-000001', 'a.bin')).body)).toBe('hello world');
  });
});
