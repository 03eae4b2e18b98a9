import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { BlobStore, ByteRange, OpenBlob } from '../blob/blob-store.ts';
import type { FileContent } from '../file-entry.ts';

/** A part of a stored object, which is empty where it ends before it starts. @throws Error when it is not as long as it was */
export async function openPart(blobs: BlobStore, content: StoredContent, part: ByteRange): Promise<Readable> {
  const blob = await openStored(blobs, content);
  if (part.start <= part.end) return blob.stream(part);
  await blob.close();
  return Readable.from([]);
}

/** As `openPart`, in memory. */
export async function readPart(blobs: BlobStore, content: StoredContent, part: ByteRange): Promise<Buffer> {
  const blob = await openStored(blobs, content);
  const bytes = await blob.slice(part).finally(blob.close);
  if (bytes.length === part.end - part.start + 1) return bytes;
  throw new Error(`object ${content.objectId} ends early`);
}

type StoredContent = Pick<FileContent, 'objectId' | 'sizeBytes'>;

async function openStored(blobs: BlobStore, { objectId, sizeBytes }: StoredContent): Promise<OpenBlob> {
  const blob = await blobs.open(objectId);
  if (blob.sizeBytes === sizeBytes) return blob;
  await blob.close();
  throw new Error(`object ${objectId} has ${blob.sizeBytes} bytes instead of ${sizeBytes}`);
}

/** The bytes read differ from those stored. */
export class DamagedContent extends Error {
  constructor(objectId: string) {
    super(`object ${objectId} is not what was stored`);
  }
}

/**
 * All bytes of an object. The last ones are sent after the sha256 of the whole is verified. If it differs, the stream fails
 * with `DamagedContent` before them, so that no reader receives a damaged object as complete.
 */
export function verifiedBytes(bytes: Readable, content: FileContent): Readable {
  return Readable.from(checked(bytes, content), { highWaterMark: 1 });
}

async function* checked(
  bytes: Readable,
  { objectId, sha256 }: FileContent,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash('sha256');
  let delayed: Uint8Array | undefined;
  for await (const chunk of bytes) {
    hash.update(chunk);
    if (delayed !== undefined) yield delayed;
    delayed = chunk;
  }
  if (hash.digest('hex') !== sha256) throw new DamagedContent(objectId);
  if (delayed !== undefined) yield delayed;
}
