import type { FileHandle } from 'node:fs/promises';
import { type Appended, type AppendOptions, storeChunks } from './blob-store.ts';

/** After this many bytes the disk starts writing, so that little is left for the final fsync. */
const BEGIN_EVERY_BYTES = 4_194_304;

export interface AppendToFileOptions extends Omit<AppendOptions, 'maxBytes'> {
  /** Called when all bytes of the source are written, before they are made durable. */
  beforeSync?: () => Promise<void> | undefined;
}

/** Writes bytes after the first ones of a file, and makes them durable. */
export async function appendToFile(
  file: FileHandle,
  source: AsyncIterable<Uint8Array>,
  { from, durableEvery, onDurable, beforeWrite, beforeSync }: AppendToFileOptions,
): Promise<Appended> {
  let totalBytes = from;
  let durableBytes = from;
  /** The latest sync, and how many bytes it covers; the first also covers the length that the file was cut to. */
  let sync: { bytes: number; done: Promise<void> } | undefined;

  const beginSync = async () => {
    await sync?.done;
    sync = { bytes: totalBytes, done: file.datasync() };
    // The error is thrown when it is awaited, which may be many chunks later.
    sync.done.catch(() => {});
  };
  const makeDurable = async () => {
    if (sync?.bytes !== totalBytes) await beginSync();
    await sync?.done;
    durableBytes = totalBytes;
  };

  const writeChunk = async (chunk: Uint8Array) => {
    beforeWrite();
    await writeAll(file, chunk, totalBytes);
    totalBytes += chunk.length;
    if (totalBytes - durableBytes >= durableEvery) {
      await makeDurable();
      await onDurable(totalBytes);
    } else if (totalBytes - (sync?.bytes ?? from) >= BEGIN_EVERY_BYTES) await beginSync();
  };
  try {
    const brokenBy = await storeChunks(source, writeChunk);
    if (brokenBy === undefined) await beforeSync?.();
    await makeDurable();
    return { totalBytes, brokenBy };
  } catch (error) {
    // An error of the disk has priority.
    await sync?.done;
    throw error;
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.length - written;
    written += (await file.write(bytes, written, rest, position + written)).bytesWritten;
  }
}
