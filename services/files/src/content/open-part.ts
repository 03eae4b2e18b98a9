import { Readable } from 'node:stream';
import type { BlobStore, ByteRange } from '../blob/blob-store.ts';
import type { FileContent } from '../file-entry.ts';

/** A part of a stored object, which is empty where it ends before it starts. @throws Error when it is not as long as it was */
export async function openPart(
  blobs: BlobStore,
  { objectId, sizeBytes }: Pick<FileContent, 'objectId' | 'sizeBytes'>,
  part: ByteRange,
): Promise<Readable> {
  const blob = await blobs.open(objectId);
  const isAsStored = blob.sizeBytes === sizeBytes;
  if (isAsStored && part.start <= part.end) return blob.stream(part);
  await blob.close();
  if (!isAsStored) throw new Error(`object ${objectId} has ${blob.sizeBytes} bytes instead of ${sizeBytes}`);
  return Readable.from([]);
}
