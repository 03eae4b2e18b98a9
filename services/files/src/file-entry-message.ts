import type { FileEntry as FileEntryMessage } from '@kr/contracts';
import { type FileEntry, STORAGE_CLASS } from './file-entry.ts';

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
