import { type FileEntry as FileEntryMessage, timestamp } from '@kr/contracts';
import type { Sql } from '@kr/database';

/** One file of an entity, pending or completed. */
export interface FileEntry {
  entityId: string;
  key: string;
  createdAt: Date;
  updatedAt: Date;
  isCompleted: boolean;
  /** JSON text of an object; null where nothing is known. */
  metadata: string | null;
  /** Null until bytes have arrived; a pending entry may have some. */
  content: FileContent | null;
  bucketId: string;
}

/** The stored bytes an entry refers to. Other entries may refer to the same object. */
export interface FileContent {
  objectId: string;
  versionId: string;
  sizeBytes: number;
  /** 32 hexadecimal digits. */
  md5: string;
  /** 64 hexadecimal digits. */
  sha256: string;
  mimetype: string;
  /** When the bytes were stored. */
  storedAt: Date;
  /** Pixels; null where the bytes are no image that was understood. */
  dimensions: Dimensions | null;
}

export interface Dimensions {
  width: number;
  height: number;
}

interface EntryRow extends Omit<FileEntry, 'content'>, Omit<FileContent, 'objectId' | 'dimensions'> {
  objectId: string | null;
  width: number | null;
  height: number | null;
}

/** Postgres returns `float8` as a number, exact up to 2^53. */
const SELECT = `
  select e.entity_id as "entityId", e.key, e.created_at as "createdAt", e.updated_at as "updatedAt",
    e.state = 'completed' as "isCompleted", e.metadata, b.id as "bucketId", e.object_id as "objectId",
    e.version_id as "versionId", o.size::float8 as "sizeBytes", o.md5, o.sha256, e.mimetype,
    o.created_at as "storedAt", o.width, o.height
  from entry e
  join bucket b on b.entity_id = e.entity_id
  left join object o on o.id = e.object_id
  where e.entity_id = $1`;

/** The entries of a bucket in the order they were started. */
export async function listFiles(sql: Sql, entityId: string): Promise<FileEntry[]> {
  const rows = await sql.$queryRawUnsafe<EntryRow[]>(`${SELECT} order by e.position`, entityId);
  return rows.map(toEntry);
}

export async function findFile(sql: Sql, entityId: string, key: string): Promise<FileEntry | undefined> {
  // Postgres cannot store such a text, and fails on it.
  if (key.includes('\0') || entityId.includes('\0')) return undefined;
  const rows = await sql.$queryRawUnsafe<EntryRow[]>(`${SELECT} and e.key = $2`, entityId, key);
  return rows.map(toEntry)[0];
}

function toEntry({
  objectId,
  versionId,
  sizeBytes,
  md5,
  sha256,
  mimetype,
  storedAt,
  ...row
}: EntryRow): FileEntry {
  const { width, height, ...entry } = row;
  if (objectId === null) return { ...entry, content: null };
  const dimensions = width === null || height === null ? null : { width, height };
  const content = { objectId, versionId, sizeBytes, md5, sha256, mimetype, storedAt, dimensions };
  return { ...entry, content };
}

/** A file entry as the protos have it. */
export function fileEntryMessage({ content, ...entry }: FileEntry): FileEntryMessage {
  const message: FileEntryMessage = {
    key: entry.key,
    createdAt: timestamp(entry.createdAt),
    updatedAt: timestamp(entry.updatedAt),
    isCompleted: entry.isCompleted,
    metadataJson: Buffer.from(entry.metadata ?? 'null'),
  };
  if (!entry.isCompleted || content === null) return message;
  return {
    ...message,
    checksum: `md5:${content.md5}`,
    mimetype: content.mimetype,
    size: content.sizeBytes,
    fileId: content.objectId,
    versionId: content.versionId,
    bucketId: entry.bucketId,
    storageClass: 'S',
  };
}
