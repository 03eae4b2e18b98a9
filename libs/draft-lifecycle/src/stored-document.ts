import type { StoredAccess, StoredMetadata } from '@kr/metadata';

/** One persistent identifier as it is kept and shown. */
export interface StoredPid {
  identifier: string;
  provider: string;
  client?: string;
}

/** The `files` options of an entity. The counts are those at publication; a draft has none. */
export interface StoredFiles {
  enabled: boolean;
  default_preview: string | null;
  order: readonly string[];
  entries?: number;
  total_bytes?: number;
}

/** The content of a draft or of a published form, as the `document` columns hold it. */
export interface StoredDocument {
  metadata: StoredMetadata;
  access: StoredAccess;
  files: StoredFiles;
  pids: Readonly<Record<string, StoredPid>>;
  custom_fields: Readonly<Record<string, unknown>>;
}
