import { type FileEntry, STORAGE_CLASS } from './file-entry.ts';

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
