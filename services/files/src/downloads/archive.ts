import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { Sql } from '@kr/database';
import { create } from 'content-disposition';
import type { BlobStore, ByteRange } from '../blob/blob-store.ts';
import type { ArchivePath, Respond } from '../http/content-path.ts';
import { SAFETY } from './get-content.ts';
import { type Representation, type ServeRepresentationDeps, serveRepresentation } from './representation.ts';
import { openPart } from './verified-bytes.ts';
import { type Piece, zipLayout } from './zip.ts';

/** Device names of Windows, with or without an extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)/i;

/**
 * The names of files in an archive, in their order: their keys, changed where a file system could not store them or would take two
 * for one because it ignores case or composition. Of those all but the first get a number.
 */
export function archiveNames(keys: readonly string[]): string[] {
  const taken = new Set<string>();
  const storable = keys.map(storableName);
  const unnumbered = new Set(storable.map(folded));
  return storable.map((wanted) => {
    let name = wanted;
    for (let number = 2; taken.has(folded(name)); number += 1) {
      const numbered = withNumber(wanted, number);
      if (!unnumbered.has(folded(numbered))) name = numbered;
    }
    taken.add(folded(name));
    return name;
  });
}

/** A name that every usual file system can store. */
function storableName(key: string): string {
  return key
    .replaceAll(/[<>:"|?*\p{Bidi_Control}]|(?<![. ])[. ]+$/gu, (found) => '_'.repeat(found.length))
    .replace(DEVICE, '_$&');
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

function withNumber(key: string, number: number): string {
  const [, stem = key, extension = ''] = /^(.+?)(\.[^.]*)?$/su.exec(key) ?? [];
  return `${stem} (${number})${extension}`;
}

/** A completed file as an archive has it. */
export interface ArchivedFile {
  key: string;
  objectId: string;
  sizeBytes: number;
  /** Null if it was not computed on arrival. */
  crc32: number | null;
  storedAt: Date;
}

const ARCHIVED_FILES = `
  select e.key, o.id as "objectId", o.size::float8 as "sizeBytes", o.crc32::float8, o.created_at as "storedAt"
  from entry e join object o on o.id = e.object_id
  where e.entity_id = $1 and e.state = 'completed'
  order by e.position`;

/** The completed files of an entity in the order they were started, as they are at one moment. */
async function archivedFiles(sql: Sql, entityId: string): Promise<ArchivedFile[]> {
  // Postgres cannot store such a text, and fails on it.
  return entityId.includes('\0') ? [] : sql.$queryRawUnsafe(ARCHIVED_FILES, entityId);
}

/** The CRC-32 of each file, in their order. */
export type Crc32s = (files: readonly ArchivedFile[]) => Promise<number[]>;

const SAVE_CRC32 = 'update object set crc32 = $2 where id = $1 and crc32 is null';

/**
 * Checksums of recent objects were computed on arrival. Older objects are read once, one after the
 * other, and no object twice at the same time.
 */
function crc32sOfObjects({ database, blobs }: GetArchiveDeps): Crc32s {
  const underWay = new Map<string, Promise<number>>();

  const compute = async (file: ArchivedFile): Promise<number> => {
    let computed = 0;
    const bytes = await openPart(blobs, file, { start: 0, end: file.sizeBytes - 1 });
    for await (const chunk of bytes) computed = crc32(chunk, computed);
    await database.$executeRawUnsafe(SAVE_CRC32, file.objectId, computed);
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

export interface ArchiveDeps {
  blobs: BlobStore;
  crc32s: Crc32s;
}

/** Changes with every change of how archives are written, for their tags promise the same bytes. */
const FORMAT = 'zip-1';

/** All the files of an entity as one ZIP file, made while it is read and of which any part can be made by itself. */
function archiveRepresentation(
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
    // A draft's files may change twice in a second, and may change back: only the ETag is reliable.
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

export interface GetArchiveDeps extends ServeRepresentationDeps {
  database: Sql;
  blobs: BlobStore;
}

/**
 * GET and HEAD /archive/{entityId}: the completed files of an entity as one ZIP file, with conditions and byte ranges.
 * Files that are deleted during the download stay in it.
 * @throws ServiceError `precondition_failed`
 */
export function getArchive(deps: GetArchiveDeps): Respond<ArchivePath> {
  const crc32s = crc32sOfObjects(deps);
  return async (request, response, { entityId }) => {
    const files = await archivedFiles(deps.database, entityId);
    const archive = archiveRepresentation({ blobs: deps.blobs, crc32s }, entityId, files);
    await serveRepresentation(deps, request, response, archive);
  };
}
