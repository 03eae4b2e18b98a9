import type { FileEntry as FileEntryMessage } from '@kr/contracts';

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
  /** 64 hexadecimal digits; null if it was not computed on arrival. */
  sha256: string | null;
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

/** The storage class of the public file entry. */
const STORAGE_CLASS = 'S';

/** A file entry as the byte plane answers it: the public document without `links`, instants ISO 8601 with microseconds. */
export function fileEntryJson(entry: FileEntry): Record<string, unknown> {
  const { content } = entry;
  const times = { created: instant(entry.createdAt), updated: instant(entry.updatedAt) };
  const metadata: unknown = entry.metadata === null ? null : JSON.parse(entry.metadata);
  if (!entry.isCompleted || content === null)
    return { key: entry.key, ...times, status: 'pending', metadata };
  return {
    key: entry.key,
    storage_class: STORAGE_CLASS,
    checksum: `md5:${content.md5}`,
    size: content.sizeBytes,
    ...times,
    status: 'completed',
    metadata,
    mimetype: content.mimetype,
    version_id: content.versionId,
    file_id: content.objectId,
    bucket_id: entry.bucketId,
  };
}

function instant(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

/** A file entry as the protos have it. */
export function fileEntryMessage(entry: FileEntry): FileEntryMessage {
  const message: FileEntryMessage = {
    key: entry.key,
    createdAt: timestamp(entry.createdAt),
    updatedAt: timestamp(entry.updatedAt),
    isCompleted: entry.isCompleted,
    metadataJson: Buffer.from(entry.metadata ?? 'null'),
  };
  if (!entry.isCompleted || entry.content === null) return message;
  return {
    ...message,
    checksum: `md5:${entry.content.md5}`,
    mimetype: entry.content.mimetype,
    size: entry.content.sizeBytes,
    fileId: entry.content.objectId,
    versionId: entry.content.versionId,
    bucketId: entry.bucketId,
    storageClass: STORAGE_CLASS,
  };
}

function timestamp(instant: Date): { seconds: number; nanos: number } {
  const ms = instant.getTime();
  const seconds = Math.floor(ms / 1_000);
  return { seconds, nanos: (ms - seconds * 1_000) * 1_000_000 };
}
