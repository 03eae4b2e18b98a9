import type { Sql } from '@kr/database';
import type { FileEntry } from '../file-entry.ts';

interface EntryRow {
  entity_id: string;
  key: string;
  state: string;
  metadata: string | null;
  created_at: Date;
  updated_at: Date;
  bucket_id: string;
  version_id: string | null;
  mimetype: string | null;
  object_id: string | null;
  size: bigint | null;
  md5: string | null;
  sha256: string | null;
  stored_at: Date | null;
  width: number | null;
  height: number | null;
}

const SELECT = `
  select e.entity_id, e.key, e.state, e.metadata, e.created_at, e.updated_at, b.id as bucket_id, e.version_id, e.mimetype,
    e.object_id, o.size, o.md5, o.sha256, o.created_at as stored_at, o.width, o.height
  from entry e
  join bucket b on b.entity_id = e.entity_id
  left join object o on o.id = e.object_id
  where e.entity_id = $1`;
const LIST = `${SELECT} order by e.position`;
const FIND = `${SELECT} and e.key = $2`;

/** The entries of a bucket in the order they were started. */
export async function listEntries(sql: Sql, entityId: string): Promise<FileEntry[]> {
  const rows = await sql.$queryRawUnsafe<EntryRow[]>(LIST, entityId);
  return rows.map(toEntry);
}

export async function findEntry(sql: Sql, entityId: string, key: string): Promise<FileEntry | undefined> {
  // Postgres cannot store such a text, and fails on it.
  if (key.includes('\0') || entityId.includes('\0')) return undefined;
  const rows = await sql.$queryRawUnsafe<EntryRow[]>(FIND, entityId, key);
  return rows.map(toEntry)[0];
}

/** Holds an entry's row, if there is one, until the transaction ends. */
export async function lockEntry(sql: Sql, entityId: string, key: string): Promise<void> {
  await sql.$queryRawUnsafe('select from entry where entity_id = $1 and key = $2 for update', entityId, key);
}

function toEntry(row: EntryRow): FileEntry {
  return {
    entityId: row.entity_id,
    key: row.key,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    isCompleted: row.state === 'completed',
    metadata: row.metadata,
    content: contentOf(row),
    bucketId: row.bucket_id,
  };
}

function contentOf(row: EntryRow): FileEntry['content'] {
  const { object_id, version_id, size, md5, sha256, mimetype, stored_at, width, height } = row;
  if (object_id === null || version_id === null || size === null) return null;
  if (md5 === null || mimetype === null || stored_at === null) return null;
  return {
    objectId: object_id,
    versionId: version_id,
    sizeBytes: Number(size),
    md5,
    sha256,
    mimetype,
    storedAt: stored_at,
    dimensions: width === null || height === null ? null : { width, height },
  };
}
