import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Sql } from '@kr/database';
import { create } from 'content-disposition';
import type { BlobStore, ByteRange } from '../blob/blob-store.ts';
import type { FilesContext } from '../context.ts';
import type { ArchivePath, Respond } from '../http/content-path.ts';
import { SAFETY } from './get-content.ts';
import { type Representation, serveRepresentation } from './representation.ts';
import { openPart } from './verified-bytes.ts';
import { type Piece, type ZipItem, zipLayout } from './zip.ts';

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
  return storable.map((storedName) => {
    let name = storedName;
    for (let number = 2; taken.has(folded(name)); number += 1) {
      const numbered = withNumber(storedName, number);
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

/** A completed file, named as in the archive. */
interface ArchivedFile extends ZipItem {
  objectId: string;
}

const FILES = `
  select e.key as name, o.id as "objectId", o.size::float8 as "sizeBytes", o.crc32::float8, o.created_at as "modifiedAt"
  from entry e join object o on o.id = e.object_id
  where e.entity_id = $1 and e.state = 'completed'
  order by e.position`;

/** The completed files of an entity in the order they were started, as they are at one moment. */
async function archivedFiles(sql: Sql, entityId: string): Promise<ArchivedFile[]> {
  // Postgres cannot store such a text, and fails on it.
  if (entityId.includes('\0')) return [];
  const files = await sql.$queryRawUnsafe<ArchivedFile[]>(FILES, entityId);
  const names = archiveNames(files.map(({ name }) => name));
  return files.map((file, index) => ({ ...file, name: names[index] ?? file.name }));
}

/** Changes with every change of how archives are written, for their tags promise the same bytes. */
const FORMAT = 'zip-1';

/** All the files of an entity as one ZIP file, generated while it is read; any part can be generated separately. */
function archiveRepresentation(
  blobs: BlobStore,
  entityId: string,
  files: readonly ArchivedFile[],
): Representation {
  const { sizeBytes, pieces } = zipLayout(files);
  return {
    sizeBytes,
    etag: archiveTag(files.map(({ name, objectId, modifiedAt }) => [name, objectId, modifiedAt])),
    // A draft's files may change twice in a second, and may change back: only the ETag is reliable.
    lastModified: undefined,
    type: 'application/zip',
    headers: { 'content-disposition': create(`${entityId}.zip`) },
    wholeHeaders: {},
    safety: SAFETY,
    open: async (part) => Readable.from(bytesOf(blobs, pieces, part), { objectMode: false }),
  };
}

function archiveTag(state: unknown): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([FORMAT, state]))
    .digest('hex');
  return `"zip:${digest.slice(0, 32)}"`;
}

async function* bytesOf(
  blobs: BlobStore,
  pieces: readonly Piece<ArchivedFile>[],
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array> {
  for (const { offset, sizeBytes, content } of pieces) {
    const part = { start: Math.max(0, start - offset), end: Math.min(end - offset, sizeBytes - 1) };
    if (part.start > part.end) continue;
    if ('records' in content) yield content.records().subarray(part.start, part.end + 1);
    else yield* await openPart(blobs, content.item, part);
  }
}

/**
 * GET and HEAD /archive/{entityId}: the completed files of an entity as one ZIP file, with conditions and byte ranges.
 * Files that are deleted during the download stay in it.
 * @throws ServiceError `precondition_failed`
 */
export function getArchive(deps: FilesContext): Respond<ArchivePath> {
  return async (request, response, { entityId }) => {
    const files = await archivedFiles(deps.database, entityId);
    await serveRepresentation(deps, request, response, archiveRepresentation(deps.blobs, entityId, files));
  };
}
