import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pMap from 'p-map';
import type { ApiClient } from '../api/api-client.ts';
import { type FileEntry, type FilesListing, findEntity, idIn, linkOf } from '../api/entity.ts';
import { Failure } from '../failure.ts';
import { transferProgress } from '../terminal/transfer-progress.ts';
import type { CommandContext } from './context.ts';

export interface DownloadOptions {
  to: string;
  draft: boolean;
  json: boolean;
  concurrency: number;
}

interface Target {
  entry: FileEntry;
  path: string;
  isThere: boolean;
}

/** `kr download ID`: the files of a resource or package, each checked against its checksum. */
export async function download(
  { terminal, connect }: CommandContext,
  id: string,
  options: DownloadOptions,
): Promise<void> {
  const api = await connect();
  const entity = await findEntity(api, idIn(id), options.draft ? 'draft' : 'published');
  const { entries = [] } = await api.call<FilesListing>({ method: 'GET', target: linkOf(entity, 'files') });
  const completed = entries.filter(({ status }) => status === 'completed');
  const targets = await Promise.all(completed.map((entry) => locate(entry, options.to)));

  const missing = targets.filter(({ isThere }) => !isThere);
  const bytes = missing.reduce((sum, { entry }) => sum + (entry.size ?? 0), 0);
  const progress = transferProgress(terminal, 'downloaded', { files: missing.length, bytes });
  try {
    await pMap(
      missing,
      async ({ entry, path }) => {
        await fetchFile(api, entry, path, progress.advance);
        progress.finished(entry.key, entry.size ?? 0);
      },
      { concurrency: options.concurrency },
    );
  } finally {
    progress.end();
  }
  if (targets.length === 0) terminal.note(`${entity.id} has no files`);
  if (options.json) {
    const files = targets.map(({ entry, path }) => ({
      key: entry.key,
      path,
      size: entry.size,
      checksum: entry.checksum,
    }));
    terminal.print(JSON.stringify({ id: entity.id, files }, null, 2));
  } else {
    for (const { path } of targets) terminal.print(path);
  }
}

/** Where a file goes; a key is never allowed to lead out of the folder. */
async function locate(entry: FileEntry, folder: string): Promise<Target> {
  const path = resolve(folder, entry.key);
  const inside = relative(resolve(folder), path);
  if (inside === '' || inside.startsWith('..'))
    throw new Failure(`"${entry.key}" is no name for a file in ${folder}`);
  return { entry, path, isThere: (await checksumOf(path)) === entry.checksum };
}

async function checksumOf(path: string): Promise<string | undefined> {
  const digest = createHash('md5');
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) digest.update(chunk);
  } catch {
    // Not there, or not readable: it is fetched.
    return undefined;
  }
  return `md5:${digest.digest('hex')}`;
}

const MOST_ATTEMPTS = 4;

async function fetchFile(
  api: ApiClient,
  entry: FileEntry,
  path: string,
  advance: (bytes: number) => void,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.part`;
  try {
    for (let attempt = 1; ; attempt += 1) {
      let received = 0;
      try {
        const checksum = await receive(api, linkOf(entry, 'content'), part, (bytes) => {
          received += bytes;
          advance(bytes);
        });
        if (checksum !== entry.checksum) throw new Error(`it is ${checksum} instead of ${entry.checksum}`);
        break;
      } catch (error) {
        advance(-received);
        if (error instanceof Failure) throw error;
        // The connection broke or bytes got lost on the way: from the start again.
        if (attempt === MOST_ATTEMPTS) throw new Failure(`${entry.key} did not arrive: ${String(error)}`);
      }
    }
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

async function receive(
  api: ApiClient,
  target: string,
  part: string,
  advance: (bytes: number) => void,
): Promise<string> {
  const digest = createHash('md5');
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      digest.update(chunk);
      advance(chunk.length);
      done(null, chunk);
    },
  });
  await pipeline(await api.open(target), count, createWriteStream(part));
  return `md5:${digest.digest('hex')}`;
}
