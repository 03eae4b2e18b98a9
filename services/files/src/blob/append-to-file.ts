import type { FileHandle } from 'node:fs/promises';
import type { Appended, AppendOptions } from './blob-store.ts';
import { untilBroken } from './until-broken.ts';

/** After so many the disk begins with them, so that little is left to wait for at the end. */
const BEGIN_EVERY_BYTES = 4_194_304;

/** Writes what comes behind the first bytes of a file, and makes it durable. */
export async function appendToFile(
  file: FileHandle,
  source: AsyncIterable<Uint8Array>,
  { from, durableEvery, onDurable, beforeWrite }: AppendOptions,
): Promise<Appended> {
  let totalBytes = from;
  let durableBytes = from;
  /** The latest sync, and how many bytes it covers; the first also covers the length that the file was cut to. */
  let sync: { bytes: number; done: Promise<void> } | undefined;

  const beginSync = async () => {
    await sync?.done;
    sync = { bytes: totalBytes, done: file.datasync() };
    // It is heard where it is awaited, which may be many chunks later.
    sync.done.catch(() => {});
  };
  const makeDurable = async () => {
    if (sync?.bytes !== totalBytes) await beginSync();
    await sync?.done;
    durableBytes = totalBytes;
  };

  let brokenBy: unknown;
  const whole = untilBroken(source, (error) => {
    brokenBy = error;
  });
  try {
    for await (const chunk of whole) {
      beforeWrite();
      await writeAll(file, chunk, totalBytes);
      totalBytes += chunk.length;
      if (totalBytes - durableBytes >= durableEvery) {
        await makeDurable();
        await onDurable(totalBytes);
      } else if (totalBytes - (sync?.bytes ?? from) >= BEGIN_EVERY_BYTES) await beginSync();
    }
    await makeDurable();
  } catch (error) {
    // That the disk failed weighs more than anything else.
    await sync?.done;
    throw error;
  }
  return { totalBytes, brokenBy };
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.length - written;
    written += (await file.write(bytes, written, rest, position + written)).bytesWritten;
  }
}
