import {
  checkAccess,
  checkMetadata,
  firstIssues,
  OPEN_ACCESS,
  type StoredAccess,
  type Vocabularies,
} from '@kr/metadata';
import { type Issue, ServiceError } from '@kr/service-error';
import { isJsonObject, type JsonObject, type StoredDocument } from './entity.ts';
import { type FileCounts, filesIssues, filesOptions, previewIssues } from './files.ts';
import { issue, issuesOf, unknownKeys } from './issues.ts';
import type { EntityKind } from './kind.ts';
import { checkPids, type StoredPids } from './pids.ts';

/** The draft that a body replaces. */
export interface ReplacedDraft {
  document: StoredDocument;
  issues: readonly Issue[];
}

export interface ContentInput {
  kind: EntityKind['name'];
  id: string;
  doiPrefix: string;
  vocabularies: Vocabularies;
  now: Date;
  counts: FileCounts;
  /** Registered identifiers of the published form; empty while there is none. */
  registered: StoredPids;
  /** Null when the draft is new. */
  before: ReplacedDraft | null;
}

/** The content of a draft from a body, with all its problems. */
export interface DraftContent {
  document: StoredDocument;
  /** Saved with the draft. */
  issues: Issue[];
}

/**
 * Replaces a draft's content by a body (REST document, 4.1 and 4.4). Unknown top-level keys are ignored.
 *
 * @throws ServiceError `invalid` for content that not even a draft may have
 */
export function draftContent(body: JsonObject, input: ContentInput): DraftContent {
  const { kind, id, doiPrefix, counts, registered, before, vocabularies } = input;
  const metadata = checkMetadata(body['metadata'], kind, { strict: false, vocabularies });
  const access = draftAccess(body['access'], input);
  const fatal = [...metadata.fatal, ...access.fatal];
  if (fatal.length > 0) throw new ServiceError('invalid', 'A validation error occurred.', { issues: fatal });
  const custom = customFieldIssues(body['custom_fields']);
  const pids = checkPids(body['pids'], { id, doiPrefix, registered, before: before?.document.pids ?? {} });
  const files = filesOptions(body['files'], before?.document.files ?? null, counts);
  const fit = before === null ? previewIssues(files.files, counts) : filesIssues(files.files, counts);
  return {
    document: {
      metadata: metadata.metadata,
      access: access.access,
      files: files.files,
      pids: pids.pids,
      custom_fields: {},
    },
    // By part, because publishing checks the stored problems of each.
    issues: [metadata.issues, access.issues, custom, pids.issues, files.issues, fit].flatMap(firstIssues),
  };
}

/** Absent access stays unchanged, with its problems. */
function draftAccess(
  input: unknown,
  { now, before }: ContentInput,
): { access: StoredAccess; issues: Issue[]; fatal: Issue[] } {
  if (input === undefined) {
    const issues = before === null ? [] : issuesOf(before.issues, 'access');
    return { access: before?.document.access ?? OPEN_ACCESS, issues, fatal: [] };
  }
  const checked = checkAccess(input, { now });
  // The files of a restricted record are never open to everybody.
  return checked.access.record === 'restricted'
    ? { ...checked, access: { ...checked.access, files: 'restricted' } }
    : checked;
}

/** No custom field is configured. */
function customFieldIssues(input: unknown): Issue[] {
  if (input === undefined) return [];
  if (input === null) return [issue('custom_fields', 'Field may not be null.')];
  return isJsonObject(input)
    ? unknownKeys(input, [], 'custom_fields')
    : [issue('custom_fields._schema', 'Invalid input type.')];
}

/** Initial content of the draft of a published entity. */
export function draftFromPublished(published: StoredDocument): StoredDocument {
  const { enabled, default_preview, order } = published.files;
  return { ...published, files: { enabled, default_preview, order } };
}

/**
 * Initial content of the next version: no files, no identifiers, nothing specific to the previous version.
 */
export function nextVersionContent(published: StoredDocument, drops: readonly string[]): StoredDocument {
  const metadata = Object.entries(published.metadata).filter(([name]) => !drops.includes(name));
  return {
    metadata: Object.fromEntries(metadata),
    access: published.access,
    files: { enabled: published.files.enabled, default_preview: null, order: [] },
    pids: {},
    custom_fields: published.custom_fields,
  };
}

/**
 * The body of a create or an update. Nothing, `null` and `[]` are an empty object. Null characters are left out of its
 * texts and keys: they mean nothing, and Postgres cannot store them.
 *
 * @throws ServiceError `invalid` when it is no JSON, or neither object nor nothing
 */
export function requestBody(bytes: Uint8Array): JsonObject {
  const value = decode(Buffer.from(bytes).toString('utf8').trim());
  if (value === null || (Array.isArray(value) && value.length === 0)) return {};
  if (isJsonObject(value)) return value;
  throw new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field: '_schema', messages: ['Invalid input type.'] }],
  });
}

function decode(text: string): unknown {
  if (text === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    return text.includes('\\u0000') ? withoutNulls(value) : value;
  } catch (cause) {
    throw new ServiceError('invalid', 'Unable to decode JSON data in request body.', { cause });
  }
}

function withoutNulls(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\u0000', '');
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replaceAll('\u0000', ''), withoutNulls(inner)]),
  );
}
