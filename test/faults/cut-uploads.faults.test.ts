import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { seededRandom, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import type { Entity, FileEntry, FilesListing } from '../e2e/story/answers.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { link } from '../e2e/story/stories.ts';
import { scaled, seed } from './scale.ts';

const CUTS = scaled(40, 10_000);
/** Files that are uploaded at the same time. */
const FILES = 10;
const CONTENT = randomBytes(1_500_000);

let system: TestSystem;
let author: HttpClient;
let database: Client;
beforeAll(async () => {
  system = await startSystem();
  author = httpClient(system.baseUrl, system.token);
  database = new Client({ connectionString: system.databaseUrls.files });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await system?.stop();
});

/** Sends a part of the declared length, and disconnects. */
async function cutAfter(url: string, bytes: number): Promise<void> {
  const headers = { authorization: `Bearer ${system.token}`, 'content-length': CONTENT.length };
  const request = httpRequest(url, { method: 'PUT', agent: false, headers });
  request.on('error', () => {}).flushHeaders();
  const sent = new Promise((resolve) => request.write(CONTENT.subarray(0, bytes), resolve));
  await Promise.race([sent, once(request, 'close')]);
  request.destroy();
}

test(
  `${CUTS} uploads whose client is gone at any byte leave nothing, and the next one succeeds (seed ${seed})`,
  async () => {
    const json = recordDocument('Cut off', { withFiles: true });
    const draft = await author.sure<Entity>('POST', '/records', { json });
    const keys = Array.from({ length: FILES }, (_, number) => ({ key: `${number}.bin` }));
    const { entries } = await author.sure<FilesListing>('POST', link(draft, 'files'), { json: keys });
    const random = seededRandom(seed);
    const left = { of: CUTS };
    const cutAgain = async (entry: FileEntry) => {
      while (left.of > 0) {
        left.of -= 1;
        await cutAfter(link(entry, 'content'), 1 + Math.floor(random() * (CONTENT.length - 1)));
      }
    };
    await Promise.all(entries.map(cutAgain));

    const remains = async () => ({
      promised: Number((await database.query('select count(*) from reservation')).rows[0]?.count),
      files: (await readdir(join(system.filesDir, 'tmp'))).length,
      objects: Number((await database.query('select count(*) from object')).rows[0]?.count),
    });
    const nothing = { promised: 0, files: 0, objects: 0 };
    await until(async () => JSON.stringify(await remains()) === JSON.stringify(nothing), {
      timeoutMs: 60_000,
      what: 'the end of the last upload',
    });
    for (const entry of entries) {
      const put = await author.call('PUT', link(entry, 'content'), { bytes: CONTENT });
      expect([entry.key, put.status]).toEqual([entry.key, 200]);
      await author.sure('POST', link(entry, 'commit'));
      const { bytes } = await author.call('GET', link(entry, 'content'));
      expect([entry.key, bytes.equals(CONTENT)]).toEqual([entry.key, true]);
    }
    expect(await remains()).toEqual({ promised: 0, files: 0, objects: FILES });
  },
  scaled(300_000, 1_800_000),
);
