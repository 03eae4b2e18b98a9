import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { constants, copyFile, link, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pMap from 'p-map';
import type { ApiClient } from '../api/api-client.ts';
import { type FileEntry, type FilesListing, findEntity, linkOf, referenceIn } from '../api/entity.ts';
import { checksumOf } from '../checksum.ts';
import { CliError } from '../cli-error.ts';
import { transferProgress } from '../terminal/transfer-progress.ts';
import type { CommandContext } from './context.ts';

export interface DownloadOptions {
  /** A folder; default: the id of the entity. */
  to?: string;
  /** Whether existing files with other content are replaced. */
  force: boolean;
  draft: boolean;
  json: boolean;
  concurrency: number;
}

interface Target {
  entry: FileEntry;
  path: string;
  isThere: boolean;
}

/**
 * `kr download ID`: the files of a resource or package, each checked against its checksum. A file that cannot be stored is
 * reported, and the others are downloaded.
 *
 * @throws CliError naming every file that was not downloaded
 */
export async function download(
  { terminal, connect }: CommandContext,
  id: string,
  options: DownloadOptions & { cwd: string },
): Promise<void> {
  const reference = referenceIn(id);
  const api = await connect(reference.link);
  const entity = await findEntity(api, reference, options.draft || reference.isDraft ? 'draft' : 'published');
  const folder = resolve(options.cwd, options.to ?? entity.id);
  const { entries = [] } = await api.call<FilesListing>({ method: 'GET', target: linkOf(entity, 'files') });
  const completed = entries.filter(({ status }) => status === 'completed');

  const problems: string[] = [];
  /** Undefined for a file that was not downloaded. */
  const attempt = async <Value>(entry: FileEntry, work: () => Promise<Value>): Promise<Value | undefined> => {
    try {
      return await work();
    } catch (error) {
      problems.push(
        `${JSON.stringify(entry.key)}: ${error instanceof Error ? error.message : String(error)}`,
      );
      return undefined;
    }
  };
  const located = await Promise.all(completed.map((entry) => attempt(entry, () => locate(entry, folder))));
  const targets = located.filter((target) => target !== undefined);

  const missing = targets.filter(({ isThere }) => !isThere);
  const bytes = missing.reduce((sum, { entry }) => sum + (entry.size ?? 0), 0);
  const progress = transferProgress(terminal, 'downloaded', { files: missing.length, bytes });
  const failed = new Set<Target>();
  if (missing.length > 0) await mkdir(folder, { recursive: true });
  // Names of files in a record cannot collide with those in here.
  const parts = missing.length > 0 ? await mkdtemp(join(folder, '.kr-download-')) : undefined;
  try {
    await pMap(
      missing,
      async (target, index) => {
        const { entry, path } = target;
        const part = join(parts ?? folder, String(index));
        const done = await attempt(entry, async () => {
          await fetchFile(api, entry, part, progress.advance);
          await store(part, path, options.force);
          return true;
        });
        if (done) progress.finished(entry.key, entry.size ?? 0);
        else failed.add(target);
      },
      { concurrency: options.concurrency },
    );
  } finally {
    progress.end();
    if (parts !== undefined) await rm(parts, { recursive: true, force: true });
  }
  if (completed.length === 0) terminal.note(`${entity.id} has no files`);
  const stored = targets.filter((target) => !failed.has(target));
  if (options.json) {
    const files = stored.map(({ entry, path }) => ({
      key: entry.key,
      path,
      size: entry.size,
      checksum: entry.checksum,
    }));
    terminal.print(JSON.stringify({ id: entity.id, files }, null, 2));
  } else {
    for (const { path } of stored) terminal.print(path);
  }
  if (problems.length > 0)
    throw new CliError(
      `${problems.length} of ${completed.length} files were not downloaded:\n  ${problems.join('\n  ')}`,
    );
}

/** Where a file goes. @throws CliError: the key is not the name of a file in the folder */
async function locate(entry: FileEntry, folder: string): Promise<Target> {
  const path = resolve(folder, entry.key);
  const inside = relative(folder, path);
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw new CliError(`not a valid file name in ${folder}`);
  return { entry, path, isThere: (await checksumOf(path).catch(() => undefined)) === entry.checksum };
}

/** Gives a complete file its name. @throws CliError: another file has it, and may not be replaced */
async function store(part: string, path: string, force: boolean): Promise<void> {
  if (force) return rename(part, path);
  try {
    // Unlike a rename, a link never replaces a file.
    await link(part, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Some file systems have no links.
    if (code !== 'EEXIST') return copyFile(part, path, constants.COPYFILE_EXCL);
    throw new CliError(`${path} exists with other content; --force replaces it`);
  }
}

/** @throws CliError: bytes are missing, or differ from the checksum */
async function fetchFile(
  api: ApiClient,
  entry: FileEntry,
  part: string,
  advance: (bytes: number) => void,
): Promise<void> {
  let received = 0;
  try {
    const checksum = await receive(api, linkOf(entry, 'content'), part, (bytes) => {
      received += bytes;
      advance(bytes);
    });
    if (checksum !== entry.checksum) throw new Error(`it is ${checksum} instead of ${entry.checksum}`);
  } catch (error) {
    advance(-received);
    throw error instanceof CliError ? error : new CliError(`it was not downloaded: ${String(error)}`);
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
