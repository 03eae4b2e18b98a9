import type { Issue } from '@kr/service-error';
import type { StoredFiles } from './entity.ts';
import { isJsonObject } from './entity.ts';
import { issue, unknownKeys } from './issues.ts';

/** The files of one entity, as the files service counts them. */
export interface FileCounts {
  entries: number;
  /** Entries whose transfer is not complete. */
  pending: number;
  totalBytes: number;
  keys: readonly string[];
}

/** The counts in a message of the files service. */
export function fileCounts({
  entries,
  pending,
  totalBytes,
  keys,
}: Omit<FileCounts, 'totalBytes'> & { totalBytes: string }): FileCounts {
  return { entries, pending, totalBytes: Number(totalBytes), keys };
}

export const NO_FILES: FileCounts = { entries: 0, pending: 0, totalBytes: 0, keys: [] };

const DEFAULT_FILES: StoredFiles = { enabled: true, default_preview: null, order: [] };

const MISSING_FILES =
  'Missing uploaded files. To disable files for this record please mark it as metadata-only.';
const FILES_PRESENT = 'You must first delete all files to set the record to be metadata-only.';
const PENDING = 'One or more files have not completed their transfer, please wait.';

/**
 * The `files` object of a body. If absent, `enabled` stays unchanged and the preview is reset. The keys it names need
 * not exist yet; `filesIssues` returns conflicts with the existing files.
 */
export function filesOptions(
  input: unknown,
  before: StoredFiles | null,
  counts: FileCounts,
): { files: StoredFiles; issues: Issue[] } {
  const defaults = { ...DEFAULT_FILES, enabled: before?.enabled ?? true };
  if (input === undefined) return { files: defaults, issues: [] };
  if (input === null) return { files: defaults, issues: [issue('files', 'Field may not be null.')] };
  if (!isJsonObject(input))
    return { files: defaults, issues: [issue('files._schema', 'Invalid input type.')] };

  const { enabled, default_preview: preview, order } = input;
  const issues: Issue[] = [];
  if (enabled !== undefined && typeof enabled !== 'boolean') {
    issues.push(issue('files.enabled', enabled === null ? 'Field may not be null.' : 'Not a valid boolean.'));
  }
  if (preview !== undefined && preview !== null && typeof preview !== 'string') {
    issues.push(issue('files.default_preview', 'Not a valid string.'));
  }
  const names = orderOf(order, issues);
  issues.push(...unknownKeys(input, ['enabled', 'default_preview', 'order', ...READ_ONLY], 'files'));

  // Files that are there cannot be disabled by a flag.
  const mustStay = enabled === false && counts.entries > 0;
  if (mustStay) issues.push(issue('files.enabled', FILES_PRESENT));
  return {
    files: {
      enabled: mustStay || (typeof enabled === 'boolean' ? enabled : defaults.enabled),
      default_preview: typeof preview === 'string' && preview !== '' ? preview : null,
      order: names,
    },
    issues,
  };
}

/** Read by newer clients, which may send it back. */
const READ_ONLY = ['count', 'total_bytes', 'entries', 'links'];

function orderOf(order: unknown, issues: Issue[]): string[] {
  if (order === undefined || order === null) return [];
  if (!Array.isArray(order)) {
    issues.push(issue('files.order', 'Not a valid list.'));
    return [];
  }
  order.forEach((name, position) => {
    if (typeof name !== 'string') issues.push(issue(`files.order.${position}`, 'Not a valid string.'));
  });
  return order.filter((name) => typeof name === 'string');
}

/** Conflicts of the options with the existing files; the same for saving and for publishing. */
export function filesIssues(files: StoredFiles, counts: FileCounts): Issue[] {
  const issues: Issue[] = [];
  if (files.enabled && counts.entries === 0) issues.push(issue('files.enabled', MISSING_FILES));
  if (!files.enabled && counts.entries > 0) issues.push(issue('files.enabled', FILES_PRESENT));
  return [...issues, ...previewIssues(files, counts)];
}

/** A new draft has no files yet, so only the named ones are checked. */
export function previewIssues({ default_preview: preview }: StoredFiles, counts: FileCounts): Issue[] {
  if (preview === null || counts.keys.includes(preview)) return [];
  return [issue('files.default_preview', `No file with key "${preview}"`)];
}

/** Reasons that prevent the publication of an entity with these files. */
export function filesPublishIssues(files: StoredFiles, counts: FileCounts): Issue[] {
  const issues = filesIssues(files, counts);
  return counts.pending > 0 ? [...issues, issue('files', PENDING)] : issues;
}

/** The options of the published form, with the counts of the files it was published with. */
export function publishedFiles(files: StoredFiles, counts: FileCounts): StoredFiles {
  return {
    enabled: files.enabled,
    default_preview: files.default_preview,
    order: files.order,
    entries: counts.entries,
    total_bytes: counts.totalBytes,
  };
}
