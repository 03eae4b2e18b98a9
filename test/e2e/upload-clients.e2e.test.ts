import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openPython } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import { Upload } from 'tus-js-client';
import type { Entity, FileEntry, FilesListing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish } from './story/stories.ts';

const run = promisify(execFile);
const FOLDER = join(import.meta.dirname, 'upload-clients');
const CHUNK_SIZE = 262_144;
const BYTES = randomBytes(1_000_003);
const CHECKSUM = `md5:${createHash('md5').update(BYTES).digest('hex')}`;

const tuspy = await openPython(join(FOLDER, 'requirements.txt'));
let system: SharedSystem;
let author: HttpClient;
let headers: Record<string, string>;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  headers = { Authorization: `Bearer ${system.token}` };
});
afterAll(() => system?.stop());

/** A pending file of a new draft, in which a client stores the bytes; then the file is committed, published and read. */
async function expectStored(upload: (creationUrl: string) => Promise<void>): Promise<void> {
  const draft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Uploaded', { withFiles: true }),
  });
  const { entries } = await author.sure<FilesListing>('POST', link(draft, 'files'), {
    json: [{ key: 'data.bin' }],
  });
  const [entry] = entries as [FileEntry];
  await upload(link(entry, 'tus'));
  const { checksum, size } = await author.sure<FileEntry>('POST', link(entry, 'commit'));
  expect({ checksum, size }).toEqual({ checksum: CHECKSUM, size: BYTES.length });
  const published = await publish(author, draft);
  const response = await fetch(`${link(published, 'files')}/data.bin/content`);
  expect(Buffer.from(await response.arrayBuffer()).equals(BYTES)).toBe(true);
}

/** Uploads with tus-js-client. With `abortAfter`, it stops behind that many bytes and returns the URL of the upload. */
function uploadWithTusJs(target: { endpoint: string } | { uploadUrl: string }, abortAfter?: number) {
  return new Promise<string>((resolve, reject) => {
    const upload = new Upload(BYTES, {
      ...target,
      headers,
      chunkSize: CHUNK_SIZE,
      onError: reject,
      onSuccess: () => resolve(upload.url ?? ''),
      onChunkComplete: (_size, accepted) => {
        if (abortAfter === undefined || accepted < abortAfter) return;
        upload.abort().then(() => resolve(upload.url ?? ''), reject);
      },
    });
    upload.start();
  });
}

/** Runs a client as a program that prints how many bytes it has uploaded. */
async function uploadWithProgram(interpreter: string, program: string, creationUrl: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'upload-'));
  try {
    const path = join(folder, 'data.bin');
    await writeFile(path, BYTES);
    const env = { PATH: process.env['PATH'], TOKEN: system.token, PYTHONDONTWRITEBYTECODE: '1' };
    const { stdout } = await run(interpreter, [program, creationUrl, path], { env });
    expect(Number(stdout)).toBe(BYTES.length);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('an unmodified tus client uploads a file in chunks and resumes it', () => {
  test('tus-js-client', () =>
    expectStored(async (endpoint) => {
      const uploadUrl = await uploadWithTusJs({ endpoint }, 2 * CHUNK_SIZE);
      await uploadWithTusJs({ uploadUrl });
    }));

  test('Uppy', () =>
    expectStored((creationUrl) =>
      uploadWithProgram(process.execPath, join(FOLDER, 'upload-with-uppy.mjs'), creationUrl),
    ));

  if ('missing' in tuspy) test.skip(`tuspy (${tuspy.missing})`, () => {});
  else {
    test('tuspy', () =>
      expectStored((creationUrl) =>
        uploadWithProgram(tuspy.python, join(FOLDER, 'upload_with_tuspy.py'), creationUrl),
      ));
  }
});
