import type { FileHandle } from 'node:fs/promises';
import type { Appended, AppendOptions } from './blob-store.ts';
import { untilBroken } from './until-broken.ts';

/** What is gathered for one write. */
const BATCH = { bytes: 1_048_576, chunks: 1_000 };

/** Writes what comes behind the first bytes of a file, one batch while the next is gathered, and makes it durable. */
export async function appendToFile(
  file: FileHandle,
  source: AsyncIterable<Uint8Array>,
  { from, durableEvery, onDurable, beforeWrite }: AppendOptions,
): Promise<Appended> {
  let totalBytes = from;
  let durableBytes = from;
  let batch: Uint8Array[] = [];
  let batchBytes = 0;
  let writing: Promise<void> = Promise.resolve();

  const write = async () => {
    await writing;
    if (batchBytes === 0) return;
    beforeWrite();
    writing = writeAll(file, batch, totalBytes);
    // It is heard where it is awaited, which may be some chunks later.
    writing.catch(() => {});
    totalBytes += batchBytes;
    batch = [];
    batchBytes = 0;
  };
  const makeDurable = async () => {
    await write();
    await writing;
    await file.datasync();
    durableBytes = totalBytes;
  };

  let brokenBy: unknown;
  const whole = untilBroken(source, (error) => {
    brokenBy = error;
  });
  for await (const chunk of whole) {
    batch.push(chunk);
    batchBytes += chunk.length;
    if (batchBytes >= BATCH.bytes || batch.length >= BATCH.chunks) await write();
    if (totalBytes - durableBytes < durableEvery) continue;
    await makeDurable();
    await onDurable(totalBytes);
  }
  await makeDurable();
  return { totalBytes, brokenBy };
}

async function writeAll(file: FileHandle, chunks: Uint8Array[], position: number): Promise<void> {
  const { bytesWritten } = await file.writev(chunks, position);
  if (bytesWritten === chunks.reduce((sum, chunk) => sum + chunk.length, 0)) return;
  const rest = Buffer.concat(chunks).subarray(bytesWritten);
  for (let written = 0; written < rest.length; ) {
    const at = position + bytesWritten + written;
    written += (await file.write(rest, written, rest.length - written, at)).bytesWritten;
  }
}
