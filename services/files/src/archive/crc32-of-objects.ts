import { crc32 } from 'node:zlib';
import type { BlobStore } from '../blob/blob-store.ts';
import { openPart } from '../content/open-part.ts';
import type { Database } from '../store/prisma.ts';
import type { ArchivedFile } from './archived-files.ts';

export interface Crc32sDeps {
  database: Database;
  blobs: BlobStore;
}

/** The CRC-32 of each file, in their order. */
export type Crc32s = (files: readonly ArchivedFile[]) => Promise<number[]>;

/**
 * They are known of what was stored since they are computed on the way in. Older objects are read once, one after the
 * other, and no object twice at a time however many ask for it.
 */
export function crc32sOfObjects({ database, blobs }: Crc32sDeps): Crc32s {
  const underWay = new Map<string, Promise<number>>();

  const compute = async (file: ArchivedFile): Promise<number> => {
    let computed = 0;
    const bytes = await openPart(blobs, file, { start: 0, end: file.sizeBytes - 1 });
    for await (const chunk of bytes) computed = crc32(chunk, computed);
    await database.$executeRaw`
      update object set crc32 = ${computed}::bigint where id = ${file.objectId}::uuid and crc32 is null`;
    return computed;
  };
  const once = (file: ArchivedFile): Promise<number> => {
    const running = underWay.get(file.objectId);
    if (running !== undefined) return running;
    const started = compute(file).finally(() => underWay.delete(file.objectId));
    underWay.set(file.objectId, started);
    return started;
  };
  return async (files) => {
    const crc32s: number[] = [];
    for (const file of files) crc32s.push(file.crc32 ?? (await once(file)));
    return crc32s;
  };
}
