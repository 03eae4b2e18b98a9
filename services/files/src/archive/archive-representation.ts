import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { create } from 'content-disposition';
import type { BlobStore, ByteRange } from '../blob/blob-store.ts';
import { SAFETY } from '../content/content-headers.ts';
import { openPart } from '../content/open-part.ts';
import type { Representation } from '../content/representation.ts';
import { archiveNames } from './archive-names.ts';
import type { ArchivedFile } from './archived-files.ts';
import type { Crc32s } from './crc32-of-objects.ts';
import { type Piece, zipLayout } from './zip-layout.ts';

export interface ArchiveDeps {
  blobs: BlobStore;
  crc32s: Crc32s;
}

/** Changes with every change of how archives are written, for their tags promise the same bytes. */
const FORMAT = 'zip-1';

/** All the files of an entity as one ZIP file, made while it is read and of which any part can be made by itself. */
export function archiveRepresentation(
  { blobs, crc32s }: ArchiveDeps,
  entityId: string,
  files: readonly ArchivedFile[],
): Representation {
  const names = archiveNames(files.map(({ key }) => key));
  const items = files.map(({ sizeBytes, storedAt }, index) => ({
    name: names[index] ?? '',
    sizeBytes,
    modifiedAt: storedAt,
  }));
  const { sizeBytes, pieces } = zipLayout(items);
  return {
    sizeBytes,
    etag: archiveTag(items.map((item, index) => [item.name, files[index]?.objectId, item.modifiedAt])),
    // A draft's files may change twice in a second, and may change back: only the tag tells.
    lastModified: undefined,
    type: 'application/zip',
    headers: { 'content-disposition': create(`${entityId}.zip`) },
    wholeHeaders: {},
    safety: SAFETY,
    open: async (part) => {
      const known = await crc32s(files);
      const crc32Of = (item: number): number => known[item] ?? 0;
      return Readable.from(bytesOf({ blobs, pieces, files, crc32Of }, part), { objectMode: false });
    },
  };
}

function archiveTag(state: unknown): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([FORMAT, state]))
    .digest('hex');
  return `"zip:${digest.slice(0, 32)}"`;
}

interface Source {
  blobs: BlobStore;
  pieces: readonly Piece[];
  files: readonly ArchivedFile[];
  crc32Of: (item: number) => number;
}

async function* bytesOf(
  { blobs, pieces, files, crc32Of }: Source,
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array> {
  for (const { offset, sizeBytes, content } of pieces) {
    const part = { start: Math.max(0, start - offset), end: Math.min(end - offset, sizeBytes - 1) };
    if (part.start > part.end) continue;
    if ('records' in content) yield content.records(crc32Of).subarray(part.start, part.end + 1);
    else yield* await openPart(blobs, fileAt(files, content.item), part);
  }
}

function fileAt(files: readonly ArchivedFile[], item: number): ArchivedFile {
  const file = files[item];
  if (file === undefined) throw new Error(`an archive of ${files.length} files has no file ${item}`);
  return file;
}
