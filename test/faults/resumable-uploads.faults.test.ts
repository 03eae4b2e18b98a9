import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { FaultProxy, oneOf, seededRandom, until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import { Client } from 'pg';
import { Upload, type UploadOptions } from 'tus-js-client';
import type { Entity, FileEntry, FilesListing } from '../e2e/story/answers.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { link } from '../e2e/story/stories.ts';
import { report } from './report.ts';
import { scaled, seed } from './scale.ts';

const MIB = 1_048_576;
const PATIENCE_MS = scaled(300_000, 1_800_000);

let system: SharedSystem;
let folder: string;
let proxy: FaultProxy;
let database: Client;
/** Goes by way of the proxy, as the uploads do. */
let author: HttpClient;
let draft: Entity;
const random = seededRandom(seed);

beforeAll(async () => {
  system = await sharedSystem();
  folder = await mkdtemp(join(tmpdir(), 'uploads-'));
  database = new Client({ connectionString: system.databaseUrls.files });
  await database.connect();
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await database?.end();
  await system?.stop();
});
beforeEach(async () => {
  proxy = await FaultProxy.start(new URL(system.baseUrl).host);
  // A service that was killed by the test before may still be on its way back.
  author = insistentClient(httpClient(`http://${proxy.address}`, system.token));
  draft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Large', { withFiles: true }),
  });
});
afterEach(() => proxy?.stop());

/** A file of bytes that the seed decides, and their md5. */
async function bytesOnDisk(
  name: string,
  mebibytes: number,
): Promise<{ path: string; size: number; md5: string }> {
  const path = join(folder, name);
  const hash = createHash('md5');
  // One piece, in another order of bytes each time: as many random numbers as bytes would take too long.
  const piece = Buffer.from(Uint32Array.from({ length: MIB / 4 }, () => random() * 2 ** 32).buffer);
  const pieces = function* () {
    for (let number = 0; number < mebibytes; number += 1) {
      piece.writeUInt32LE(number, (number * 4_096) % MIB);
      const turned = Buffer.concat([
        piece.subarray((number * 7) % MIB),
        piece.subarray(0, (number * 7) % MIB),
      ]);
      hash.update(turned);
      yield turned;
    }
  };
  await pipeline(Readable.from(pieces()), createWriteStream(path));
  return { path, size: mebibytes * MIB, md5: `md5:${hash.digest('hex')}` };
}

async function newEntry(key: string): Promise<FileEntry> {
  const { entries } = await author.sure<FilesListing>('POST', link(draft, 'files'), { json: [{ key }] });
  const entry = entries.find((one) => one.key === key);
  if (entry === undefined) throw new Error(`${key} was not started`);
  return entry;
}

interface Log {
  /** Uploads that were begun. */
  begun: number;
  /** Offsets that were acknowledged, and later ones below them. */
  acknowledged: number;
  takenBack: number[];
  /** Bytes that were sent a second time. */
  resent: number;
  requests: number;
}

/** Uploads a file as its users do, with the patience of a night; resolves when the client is content. */
function upload(
  entry: FileEntry,
  path: string,
  options: Partial<UploadOptions> & { onSent?: (bytes: number) => void } = {},
): { done: Promise<Log>; log: Log } {
  const log: Log = { begun: 0, acknowledged: 0, takenBack: [], resent: 0, requests: 0 };
  let sentUpTo = 0;
  const { onSent, ...more } = options;
  const done = new Promise<Log>((resolve, reject) => {
    const started = new Upload(createReadStream(path), {
      endpoint: link(entry, 'tus'),
      headers: { authorization: `Bearer ${system.token}` },
      retryDelays: Array.from({ length: 600 }, () => 250),
      onBeforeRequest: (request) => {
        log.requests += 1;
        if (request.getMethod() === 'POST') log.begun += 1;
        if (request.getMethod() !== 'PATCH') return;
        const offset = Number(request.getHeader('Upload-Offset'));
        if (offset < log.acknowledged) log.takenBack.push(offset);
        log.resent += Math.max(0, sentUpTo - offset);
        sentUpTo = offset;
      },
      onProgress: (bytes) => {
        sentUpTo = Math.max(sentUpTo, bytes);
        onSent?.(bytes);
      },
      onChunkComplete: (_size, accepted) => {
        log.acknowledged = Math.max(log.acknowledged, accepted);
      },
      onError: reject,
      onSuccess: () => resolve(log),
      ...more,
    });
    started.start();
  });
  return { done, log };
}

/** The repository's copy of a committed file: its metadata and its bytes. */
async function stored(entry: FileEntry): Promise<{ said: string | undefined; given: string }> {
  const direct = insistentClient(httpClient(system.baseUrl, system.token));
  const target = (name: string) => new URL(link(entry, name)).pathname.replace(/^\/api/, '');
  const { checksum } = await direct.sure<FileEntry>('POST', target('commit'));
  const response = await fetch(`${system.baseUrl}/api${target('content')}`, {
    headers: { authorization: `Bearer ${system.token}` },
  });
  const hash = createHash('md5');
  for await (const chunk of response.body ?? []) hash.update(chunk);
  return { said: checksum, given: `md5:${hash.digest('hex')}` };
}

/** The bytes of an upload that survive a crash. */
async function keptOf({ key }: FileEntry): Promise<number> {
  const { rows } = await database.query('select received from upload where key = $1', [key]);
  return Number(rows[0]?.received ?? 0);
}

/** Cuts the connection in the middle of one chunk after the other. */
async function cutChunks(count: number, chunkBytes: number): Promise<void> {
  for (let number = 1; number <= count; number += 1) {
    const direction = oneOf(random, ['to server', 'to server', 'to client'] as const);
    const afterBytes = Math.floor(random() * (direction === 'to server' ? chunkBytes : 300));
    proxy.cutNext({ direction, afterBytes, when: (sent) => sent.includes('PATCH /api') });
    await until(() => proxy.cuts === number, { timeoutMs: PATIENCE_MS, what: `cut ${number}` });
  }
}

const CUTS = scaled(5, 100);
/** Of all connections at once. */
const RESETS = scaled(3, 50);
const SIZE_MIB = scaled(16, 1_024);
const CHUNK_BYTES = scaled(1, 4) * MIB;

describe(`an upload by tus-js-client (seed ${seed})`, () => {
  test(
    `of ${SIZE_MIB} MiB arrives whole, with ${CUTS} cuts and both servers killed on the way`,
    async () => {
      const file = await bytesOnDisk('cut.bin', SIZE_MIB);
      const entry = await newEntry('cut.bin');
      const killed: string[] = [];
      const killAt = (bytes: number, part: 'files' | 'gateway', from: number) => {
        if (bytes < from || killed.includes(part)) return;
        killed.push(part);
        system.kill(part, 'SIGKILL');
      };
      const cutting = cutChunks(CUTS, CHUNK_BYTES);
      const started = performance.now();
      const { done } = upload(entry, file.path, {
        chunkSize: CHUNK_BYTES,
        onSent: (bytes) => {
          killAt(bytes, 'files', file.size / 3);
          killAt(bytes, 'gateway', (file.size / 3) * 2);
        },
      });
      const log = await done;
      await cutting;
      report(
        `${SIZE_MIB} MiB in ${Math.round(performance.now() - started)} ms: ${log.requests} requests, ` +
          `${proxy.cuts} cuts, ${log.resent} bytes sent twice`,
      );
      expect({ killed, begun: log.begun, takenBack: log.takenBack }).toEqual({
        killed: ['files', 'gateway'],
        begun: 1,
        takenBack: [],
      });
      // Some requests fail once more, while the service restarts.
      expect(log.resent).toBeLessThanOrEqual(2 * (CUTS + killed.length) * CHUNK_BYTES);
      expect(await stored(entry)).toEqual({ said: file.md5, given: file.md5 });
    },
    PATIENCE_MS,
  );

  test(
    'in a single request is kept as it goes: who dies loses little of it',
    async () => {
      const file = await bytesOnDisk('single.bin', scaled(64, 512));
      const entry = await newEntry('single.bin');
      const resumed: number[] = [];
      const { done, log } = upload(entry, file.path, {
        onAfterResponse: (request, response) => {
          const offset = response.getHeader('Upload-Offset');
          if (request.getMethod() === 'HEAD' && offset !== undefined) resumed.push(Number(offset));
        },
      });
      // Sent bytes may still be in transit; the service returns its offset.
      await until(async () => (await keptOf(entry)) > 0, {
        timeoutMs: PATIENCE_MS,
        what: 'something to be kept',
      });
      const kept = await keptOf(entry);
      system.kill('files', 'SIGKILL');
      await done;
      expect({ begun: log.begun, hasFinished: kept === file.size }).toEqual({ begun: 1, hasFinished: false });
      expect(resumed[0]).toBeGreaterThanOrEqual(kept);
      expect(await stored(entry)).toEqual({ said: file.md5, given: file.md5 });
    },
    PATIENCE_MS,
  );

  test(
    'is one of sixteen on a line that breaks again and again, and all arrive',
    async () => {
      const files = await Promise.all(
        Array.from({ length: 16 }, (_, number) => bytesOnDisk(`one-of-${number}.bin`, scaled(1, 32))),
      );
      const entries: FileEntry[] = [];
      for (const number of files.keys()) entries.push(await newEntry(`one-of-${number}.bin`));
      const uploads = files.map(({ path }, index) =>
        upload(entries[index] as FileEntry, path, { chunkSize: scaled(MIB / 4, MIB) }),
      );
      const arrived = () => uploads.reduce((sum, { log }) => sum + log.acknowledged, 0);
      const bytes = files.reduce((sum, { size }) => sum + size, 0);
      let isOver = false;
      const breaking = (async () => {
        for (let times = 1; times <= RESETS; times += 1) {
          const enough = (bytes * times) / (RESETS + 1);
          // A client that learns its final offset from a HEAD does not report it.
          const isTime = () => isOver || arrived() >= enough;
          await until(isTime, { timeoutMs: PATIENCE_MS, what: `${enough} bytes` });
          if (isOver) return times - 1;
          proxy.reset();
        }
        return RESETS;
      })();
      const logs = await Promise.all(uploads.map(({ done }) => done));
      isOver = true;
      expect(await breaking).toBeGreaterThan(RESETS / 2);
      const found: unknown[] = [];
      for (const entry of entries) found.push(await stored(entry));
      expect(found).toEqual(files.map(({ md5 }) => ({ said: md5, given: md5 })));
      expect(logs.map(({ takenBack }) => takenBack)).toEqual(logs.map(() => []));
    },
    PATIENCE_MS,
  );

  test(
    'may be started by two at once on the same address: no byte is wrong',
    async () => {
      const file = await bytesOnDisk('twice.bin', scaled(4, 64));
      const entry = await newEntry('twice.bin');
      const begun = await fetch(link(entry, 'tus'), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${system.token}`,
          'tus-resumable': '1.0.0',
          'upload-length': String(file.size),
        },
      });
      const uploadUrl = begun.headers.get('location');
      const both = [1, 2].map(() => upload(entry, file.path, { uploadUrl, chunkSize: MIB / 4 }));
      await Promise.all(both.map(({ done }) => done));
      expect(await stored(entry)).toEqual({ said: file.md5, given: file.md5 });
    },
    PATIENCE_MS,
  );
});
