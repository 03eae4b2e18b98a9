import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import * as nodeFiles from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { failpoint } from '@kr/failpoint';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import {
  type Appended,
  type AppendOptions,
  type BlobStore,
  type ByteRange,
  isUuid,
  type ListedBlob,
  MissingObject,
  type OpenBlob,
  storeChunks,
  storeFull,
  type UnfinishedWrite,
  uuid,
} from './blob-store.ts';

/** The operating system calls of the filesystem store; tests replace them by failing ones. */
export type FileOperations = Pick<
  typeof nodeFiles,
  'access' | 'mkdir' | 'open' | 'opendir' | 'rename' | 'rm' | 'stat'
>;

export const NODE_FILES: FileOperations = nodeFiles;

export interface FilesystemBlobStoreDeps {
  logger: Logger;
  files?: FileOperations;
}

const READ_CHUNK_BYTES = { min: 65_536, max: 1_048_576 };

const NEW_OR_OLD = constants.O_RDWR | constants.O_CREAT;

/** Bytes after which a sync starts in the background, so that little is left for the final one. */
const SYNC_EVERY_BYTES = 4_194_304;

interface AppendToFileOptions extends Omit<AppendOptions, 'sizeHint'> {
  /** Called when all bytes of the source are written, before they are made durable. */
  beforeSync?: () => Promise<void> | undefined;
}

const AT_ONCE: AppendToFileOptions = {
  from: 0,
  durableEvery: Number.POSITIVE_INFINITY,
  onDurable: async () => {},
  beforeWrite: () => {},
  beforeSync: () => failpoint('files.write.inside'),
};

/**
 * Objects as files: `objects/ab/cd/<uuid>` below a folder, and before that `tmp/<uuid>` while one request writes them
 * or `incomplete/<uuid>` while they arrive in parts, on one file system. A write is: new temporary file, bytes, fsync,
 * rename, fsync of the folder. After a failed fsync nothing is written until the process restarts:
 * the kernel may report success for pages that it has dropped.
 */
export async function filesystemBlobStore(
  folder: string,
  { logger, files = NODE_FILES }: FilesystemBlobStoreDeps,
): Promise<BlobStore> {
  const objects = join(folder, 'objects');
  const unfinished = join(folder, 'tmp');
  const incomplete = join(folder, 'incomplete');
  const firstMade = await files.mkdir(folder, { recursive: true });
  if (firstMade !== undefined) await syncFolder(files, dirname(firstMade));
  for (const part of [objects, unfinished, incomplete]) await files.mkdir(part, { recursive: true });
  await syncFolder(files, folder);
  const storeIdPath = join(folder, 'store-id');
  /** Folders that would survive a power cut; at most 65,536. */
  const durable = new Set<string>();
  let failedSync: unknown;

  const folderOf = (id: string) => join(objects, uuid(id).slice(0, 2), id.slice(2, 4));
  const incompleteOf = (id: string) => join(incomplete, uuid(id));

  function assertSound(): void {
    if (failedSync === undefined) return;
    throw new ServiceError('unavailable', 'The storage of files is broken.', { cause: failedSync });
  }

  /** @throws always, with a message for clients */
  function failed(error: unknown): never {
    const code = propertyOf(error, 'code');
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    if (isFailedSync(error) && !isFull) failedSync = error;
    throw isFull ? storeFull(error) : error;
  }

  async function write(id: string, source: AsyncIterable<Uint8Array>): Promise<number> {
    const target = join(folderOf(id), id);
    const temporary = join(unfinished, id);
    assertSound();
    try {
      const file = await files.open(temporary, 'wx', 0o600);
      const written = await closing(file, () => appendToFile(file, source, AT_ONCE));
      if (written.sourceError !== undefined) throw written.sourceError;
      await failpoint('files.sync.after');
      await moveDurably(temporary, target).catch(async (error: unknown) => {
        await discard(target);
        throw error;
      });
      return written.totalBytes;
    } catch (error) {
      await discard(temporary);
      return failed(error);
    }
  }

  async function discard(path: string): Promise<void> {
    try {
      await files.rm(path, { force: true });
    } catch (err) {
      // The error of the write is the important one; the collection removes the rest.
      logger.warn({ err, path }, 'bytes of a failed write left');
    }
  }

  async function moveDurably(from: string, to: string): Promise<void> {
    const inner = dirname(to);
    if (!durable.has(inner)) await makeFolder(inner);
    try {
      await files.rename(from, to);
    } catch (error) {
      if (propertyOf(error, 'code') !== 'ENOENT') throw error;
      // An operator may remove empty folders or restore files while the service runs.
      durable.delete(inner);
      await makeFolder(inner);
      await files.rename(from, to);
    }
    await failpoint('files.rename.after');
    await syncFolder(files, inner);
  }

  /** A folder is durable before anything is in it: else a power cut could keep the move and lose the folder. */
  async function makeFolder(inner: string): Promise<void> {
    await files.mkdir(inner, { recursive: true });
    // The process that created the folder may have died before this.
    await syncFolder(files, dirname(inner));
    await syncFolder(files, objects);
    durable.add(inner);
  }

  async function append(
    id: string,
    source: AsyncIterable<Uint8Array>,
    options: AppendOptions,
  ): Promise<Appended> {
    const path = incompleteOf(id);
    assertSound();
    const isNew = options.from === 0;
    const file = await files.open(path, isNew ? NEW_OR_OLD : 'r+', 0o600).catch(failed);
    const add = async () => {
      if (isNew) await syncFolder(files, incomplete);
      await cutTo(file, id, options.from);
      return appendToFile(file, source, options);
    };
    return closing(file, add).catch(failed);
  }

  async function complete(id: string, totalBytes: number): Promise<void> {
    const target = join(folderOf(id), id);
    assertSound();
    const store = async () => {
      const file = await files.open(incompleteOf(id), 'r+');
      await closing(file, async () => {
        if (await cutTo(file, id, totalBytes)) await file.datasync();
      });
      await moveDurably(incompleteOf(id), target);
    };
    try {
      await store().catch(async (error) => {
        if (propertyOf(error, 'code') !== 'ENOENT') throw error;
        // Moved earlier; the process may have died before that was durable.
        await files.access(target);
        await syncFolder(files, dirname(target));
      });
    } catch (error) {
      failed(error);
    }
  }

  async function open(id: string): Promise<OpenBlob> {
    try {
      return await openFile(files, join(folderOf(id), id));
    } catch (error) {
      throw propertyOf(error, 'code') === 'ENOENT' ? new MissingObject(id, { cause: error }) : error;
    }
  }

  async function readStoreId(): Promise<string | undefined> {
    const file = await files.open(storeIdPath, 'r').catch((error: unknown) => {
      if (propertyOf(error, 'code') === 'ENOENT') return undefined;
      throw error;
    });
    return file && closing(file, async () => (await file.readFile('utf8')).trim());
  }

  async function writeStoreId(id: string): Promise<void> {
    const temporary = join(unfinished, randomUUID());
    assertSound();
    try {
      const file = await files.open(temporary, 'wx', 0o600);
      await closing(file, async () => {
        await file.writeFile(`${id}\n`);
        await file.sync();
      });
      await files.rename(temporary, storeIdPath);
      await syncFolder(files, folder);
    } catch (error) {
      await discard(temporary);
      failed(error);
    }
  }

  async function* listUnfinished(before: Date): AsyncGenerator<UnfinishedWrite> {
    for await (const listed of listFiles(files, unfinished)) {
      if (listed.storedAt >= before) continue;
      yield { ...listed, remove: () => files.rm(join(unfinished, listed.id), { force: true }) };
    }
  }

  return {
    write,
    append,
    complete,
    removeIncomplete: async (id) => files.rm(incompleteOf(id), { force: true }),
    listIncomplete: () => listFiles(files, incomplete),
    open,
    pathOf: (id) => relative(folder, join(folderOf(id), id)),
    remove: async (id) => files.rm(join(folderOf(id), id), { force: true }),
    list: () => listFiles(files, objects),
    listUnfinished,
    storeIdPath,
    readStoreId,
    writeStoreId,
    check: async () => {
      assertSound();
      await files.access(unfinished, constants.W_OK);
    },
  };
}

/** Writes the chunks of a source after the first `from` bytes of a file, and makes them durable. */
async function appendToFile(
  file: nodeFiles.FileHandle,
  source: AsyncIterable<Uint8Array>,
  { from, durableEvery, onDurable, beforeWrite, beforeSync }: AppendToFileOptions,
): Promise<Appended> {
  let totalBytes = from;
  let durableBytes = from;
  /** The latest sync, and how many bytes it covers; the first also covers the length that the file was cut to. */
  let sync: { bytes: number; done: Promise<void> } | undefined;

  const startSync = async () => {
    await sync?.done;
    sync = { bytes: totalBytes, done: file.datasync() };
    // The error is thrown when it is awaited, which may be many chunks later.
    sync.done.catch(() => {});
  };
  const makeDurable = async () => {
    if (sync?.bytes !== totalBytes) await startSync();
    await sync?.done;
    durableBytes = totalBytes;
  };
  const writeChunk = async (chunk: Uint8Array) => {
    beforeWrite();
    for (let written = 0; written < chunk.length; ) {
      const rest = chunk.length - written;
      const { bytesWritten } = await file.write(chunk, written, rest, totalBytes + written);
      written += bytesWritten;
    }
    totalBytes += chunk.length;
    if (totalBytes - durableBytes >= durableEvery) {
      await makeDurable();
      await onDurable(totalBytes);
    } else if (totalBytes - (sync?.bytes ?? from) >= SYNC_EVERY_BYTES) await startSync();
  };
  try {
    const { sourceError } = await storeChunks(source, writeChunk);
    if (sourceError === undefined) await beforeSync?.();
    await makeDurable();
    return { totalBytes, sourceError };
  } catch (error) {
    // An error of the disk has priority.
    await sync?.done;
    throw error;
  }
}

/** The file is always closed; if closing fails too, the first error is thrown. */
async function closing<Outcome>(file: nodeFiles.FileHandle, work: () => Promise<Outcome>): Promise<Outcome> {
  const [worked] = await Promise.allSettled([work()]);
  const [closed] = await Promise.allSettled([file.close()]);
  if (worked.status === 'rejected') throw worked.reason;
  if (closed.status === 'rejected') throw closed.reason;
  return worked.value;
}

/** Returns whether there were further bytes. @throws Error when there are fewer */
async function cutTo(file: nodeFiles.FileHandle, id: string, bytes: number): Promise<boolean> {
  const { size } = await file.stat();
  if (size < bytes) throw new Error(`object ${id} has ${size} bytes instead of ${bytes}`);
  if (size > bytes) await file.truncate(bytes);
  return size > bytes;
}

async function openFile(files: FileOperations, path: string): Promise<OpenBlob> {
  const file = await files.open(path, 'r');
  const { size } = await file.stat().catch((error: unknown) =>
    closing(file, async (): Promise<never> => {
      throw error;
    }),
  );
  return {
    sizeBytes: size,
    stream: (range) =>
      file.createReadStream({
        ...range,
        highWaterMark: Math.min(READ_CHUNK_BYTES.max, Math.max(READ_CHUNK_BYTES.min, lengthOf(range, size))),
      }),
    slice: async ({ start, end }) => {
      const buffer = Buffer.alloc(Math.max(0, Math.min(end, size - 1) - start + 1));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
      return buffer.subarray(0, bytesRead);
    },
    close: () => file.close(),
  };
}

function lengthOf(range: ByteRange | undefined, size: number): number {
  return range === undefined ? size : range.end - range.start + 1;
}

async function* listFiles(files: FileOperations, folder: string): AsyncIterable<ListedBlob> {
  // The recursive mode of `opendir` opens all folders that it finds before it reads them.
  for await (const entry of await files.opendir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* listFiles(files, path);
    if (!entry.isFile() || !isUuid(entry.name)) continue;
    const found = await files.stat(path).catch((error: unknown) => {
      // A file may go while the folder is read.
      if (propertyOf(error, 'code') !== 'ENOENT') throw error;
    });
    if (found !== undefined) yield { id: entry.name, sizeBytes: found.size, storedAt: found.mtime };
  }
}

async function syncFolder(files: FileOperations, path: string): Promise<void> {
  const folder = await files.open(path, 'r');
  await closing(folder, () => folder.sync());
}

function isFailedSync(error: unknown): boolean {
  const syscall = propertyOf(error, 'syscall');
  return syscall === 'fsync' || syscall === 'fdatasync';
}

/** The system's error code beside its message. */
function propertyOf(error: unknown, name: 'code' | 'syscall'): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}
