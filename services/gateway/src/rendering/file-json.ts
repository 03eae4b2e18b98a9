import type { AuthoriseResponse__Output, FileEntry__Output } from '@kr/contracts';
import type { Form, Kind } from '../kind.ts';
import type { Json } from './entity-json.ts';
import { isoInstant, plainInstant } from './entity-json.ts';
import { fileLinks, fileListLinks } from './links.ts';

/** The entity of the files, and the base of their links. */
export interface FileHolder {
  kind: Kind;
  form: Form;
  id: string;
  baseUrl: string;
}

/** The public form of one file (REST document, section 2.5). */
export function fileJson(entry: FileEntry__Output, holder: FileHolder): Json {
  const links = fileLinks(holder, entry.key, holder.baseUrl);
  const times = {
    created: entry.createdAt === null ? null : plainInstant(isoInstant(entry.createdAt)),
    updated: entry.updatedAt === null ? null : plainInstant(isoInstant(entry.updatedAt)),
  };
  const metadata: unknown =
    entry.metadataJson.length === 0 ? null : JSON.parse(entry.metadataJson.toString());
  if (!entry.isCompleted) return { key: entry.key, ...times, status: 'pending', metadata, links };
  return {
    key: entry.key,
    storage_class: entry.storageClass,
    checksum: entry.checksum,
    size: Number(entry.size),
    ...times,
    status: 'completed',
    metadata,
    mimetype: entry.mimetype,
    version_id: entry.versionId,
    file_id: entry.fileId,
    bucket_id: entry.bucketId,
    links,
  };
}

/** The public form of a file listing; if files are disabled, only that, and there is no archive. */
export function fileListJson(
  settings: Pick<AuthoriseResponse__Output, 'filesEnabled' | 'defaultPreview' | 'order'>,
  entries: readonly FileEntry__Output[],
  holder: FileHolder,
): Json {
  const links = fileListLinks(holder.kind, holder.form, holder.id, holder.baseUrl);
  if (!settings.filesEnabled) {
    const { archive: _, ...own } = links;
    return { enabled: false, links: own };
  }
  return {
    enabled: true,
    links,
    entries: entries.map((entry) => fileJson(entry, holder)),
    default_preview: settings.defaultPreview === '' ? null : settings.defaultPreview,
    order: settings.order,
  };
}

/** The public form of a file as the content port of the files service answers it: without links, instants ISO 8601. */
export function storedFileJson(stored: unknown, holder: FileHolder): Json {
  const entries = Object.entries(stored as Json).map(([key, value]): [string, unknown] =>
    key === 'created' || key === 'updated' ? [key, plainInstant(String(value))] : [key, value],
  );
  const file = Object.fromEntries(entries);
  return { ...file, links: fileLinks(holder, String(file['key']), holder.baseUrl) };
}
