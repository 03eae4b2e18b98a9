import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { failpoint } from '@kr/failpoint';
import { ServiceError } from '@kr/service-error';
import { fileTooLarge } from '../file-errors.ts';
import { appendToFile } from './append-to-file.ts';
import type {
  Appended,
  AppendOptions,
  BlobStore,
  ByteRange,
  ListedBlob,
  OpenBlob,
  StoredBytes,
} from './blob-store.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const READ_CHUNK_BYTES = { min: 65_536, max: 1_048_576 };

const NEW_OR_OLD = constants.O_RDWR | constants.O_CREAT;

const AT_ONCE: AppendOptions = {
  from: 0,
  durableEvery: Number.POSITIVE_INFINITY,
  onDurable: async () => {},
  beforeWrite: () => {},
};

/**
 * Objects as files: `objects/ab/cd/<uuid>` below a folder, and until then `tmp/<uuid>` while one request writes them
 * or `incomplete/<uuid>` while they come in parts, on one file system. A write is: new temporary file, bytes, fsync,
 * rename, fsync of the folder.
 */
export async function filesystemBlobStore(folder: string): Promise<BlobStore> {
  const objects = join(folder, 'objects');
  const unfinished = join(folder, 'tmp');
  await mkdir(objects, { recursive: true });
  const incomplete = join(folder, 'incomplete');
  await mkdir(unfinished, { recursive: true });
  await mkdir(incomplete, { recursive: true });
  /** Folders that would survive a power cut; at most 65,536. */
  const durable = new Set<string>();
  let brokenBy: unknown;

  const checked = (id: string) => {
    if (!UUID.test(id)) throw new Error('an object is named by a UUID');
    return id;
  };
  const folderOf = (id: string) => join(objects, checked(id).slice(0, 2), id.slice(2, 4));
  const incompleteOf = (id: string) => join(incomplete, checked(id));

  async function write(
    id: string,
    source: AsyncIterable<Uint8Array>,
    { maxBytes }: { maxBytes: number },
  ): Promise<StoredBytes> {
    const target = folderOf(id);
    const temporary = join(unfinished, id);
    const file = await open(temporary, 'wx', 0o600).catch(translated);
    try {
      const hash = createHash('md5');
      let sizeBytes = 0;
      async function* measured() {
        for await (const chunk of source) {
          sizeBytes += chunk.length;
          if (sizeBytes > maxBytes) throw fileTooLarge(maxBytes);
          hash.update(chunk);
          yield chunk;
        }
        await failpoint('files.write.inside');
      }
      const { brokenBy: broken } = await appendToFile(file, measured(), AT_ONCE).finally(() => file.close());
      if (broken !== undefined) throw broken;
      await failpoint('files.sync.after');
      await moveDurably(temporary, target, id);
      return { sizeBytes, md5: hash.digest('hex') };
    } catch (error) {
      if (isFailedSync(error)) brokenBy = error;
      await rm(temporary, { force: true });
      return translated(error);
    }
  }

  async function moveDurably(temporary: string, target: string, id: string): Promise<void> {
    await mkdir(target, { recursive: true });
    await rename(temporary, join(target, id));
    await failpoint('files.rename.after');
    try {
      await syncFolder(target);
      if (!durable.has(target)) {
        // Whoever made the folder may not have come as far as this yet.
        await syncFolder(join(target, '..'));
        await syncFolder(objects);
        durable.add(target);
      }
    } catch (error) {
      await rm(join(target, id), { force: true });
      throw error;
    }
  }

  async function append(
    id: string,
    source: AsyncIterable<Uint8Array>,
    options: AppendOptions,
  ): Promise<Appended> {
    const isNew = options.from === 0;
    const file = await open(incompleteOf(id), isNew ? NEW_OR_OLD : 'r+', 0o600).catch(translated);
    try {
      if (isNew) await syncFolder(incomplete);
      const { size } = await file.stat();
      if (size < options.from) throw new Error(`object ${id} has ${size} bytes instead of ${options.from}`);
      if (size > options.from) await file.truncate(options.from);
      return await appendToFile(file, source, options);
    } catch (error) {
      if (isFailedSync(error)) brokenBy = error;
      return translated(error);
    } finally {
      await file.close();
    }
  }

  async function complete(id: string): Promise<void> {
    const target = folderOf(id);
    try {
      await moveDurably(incompleteOf(id), target, id);
    } catch (error) {
      if (isFailedSync(error)) brokenBy = error;
      if (propertyOf(error, 'code') !== 'ENOENT') throw error;
      // Moved before; whoever did may have died before the folder was durable.
      await access(join(target, id));
      await syncFolder(target);
    }
  }

  return {
    write,
    append,
    complete,
    removeIncomplete: async (id) => rm(incompleteOf(id), { force: true }),
    listIncomplete: () => listFiles(incomplete),
    open: (id) => openFile(join(folderOf(id), id)),
    remove: async (id) => rm(join(folderOf(id), id), { force: true }),
    list: () => listFiles(objects),
    removeUnfinished: async (before) => {
      let count = 0;
      for await (const { id, storedAt } of listFiles(unfinished)) {
        if (storedAt >= before) continue;
        await rm(join(unfinished, id), { force: true });
        count += 1;
      }
      return count;
    },
    check: async () => {
      // After a failed fsync the kernel may report success for pages it has dropped: only a restart clears this.
      if (brokenBy !== undefined) throw new Error('the volume has failed to sync', { cause: brokenBy });
      await access(unfinished, constants.W_OK);
    },
  };
}

async function openFile(path: string): Promise<OpenBlob> {
  const file = await open(path, 'r');
  const { size } = await file.stat();
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

async function* listFiles(folder: string): AsyncIterable<ListedBlob> {
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (!entry.isFile() || !UUID.test(entry.name)) continue;
    // A file may go while the folder is read.
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined);
    if (found !== undefined) yield { id: entry.name, storedAt: found.mtime };
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isFailedSync(error: unknown): boolean {
  const syscall = propertyOf(error, 'syscall');
  return syscall === 'fsync' || syscall === 'fdatasync';
}

function translated(error: unknown): never {
  const code = propertyOf(error, 'code');
  if (code === 'ENOSPC' || code === 'EDQUOT')
    throw new ServiceError('insufficient_storage', 'There is not enough space to store the file.', {
      cause: error,
    });
  throw error;
}

/** What the system says of a failure beside its message. */
function propertyOf(error: unknown, name: 'code' | 'syscall'): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}
