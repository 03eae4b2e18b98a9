import type { StoredAccess, StoredMetadata } from '@kr/metadata';
import { type Issue, ServiceError } from '@kr/service-error';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One persistent identifier. */
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

/** A form of an entity. */
export type Form = 'draft' | 'published';

export interface EntityRef {
  id: string;
  form: Form;
}

/** State shared by all versions of an entity. */
export interface Parent {
  id: string;
  ownerId: string;
  /** The parent of the package whose context holds this resource; null if no package holds it. */
  managedBy: string | null;
  wasManaged: boolean;
  linkIds: readonly string[];
}

/** One form of an entity: its content and when it changed. */
export interface EntityForm {
  document: StoredDocument;
  revision: number;
  createdAt: Date;
  updatedAt: Date;
}

export interface PublishedForm extends EntityForm {
  /** Set while it is removed: only administrators see anything but the tombstone. */
  removal?: Removal;
}

export interface DraftForm extends EntityForm {
  issues: readonly Issue[];
  /** The publication that locks it; null while it may be changed. */
  lockedBy: string | null;
  /** Change number of the last update that left it restricted; 0 if there was none. */
  restrictionRevision: number;
}

/** An entity id with everything a decision or a rendering needs, as one query reads it. */
export interface Entity {
  id: string;
  versionIndex: number;
  parent: Parent;
  published: PublishedForm | null;
  draft: DraftForm | null;
  /** Publications that staged a form of this entity or of another version of its parent. */
  pending: readonly string[];
  /** The highest published version index of the parent; 0 if none. */
  latestIndex: number;
  /** The highest version index of the parent, drafts included. */
  lastIndex: number;
  /** The lowest change number the next draft may have. */
  nextDraftRevision: number;
  /** The ids of `relationship` for each form; absent if not loaded. */
  related?: Readonly<Record<Form, readonly string[]>>;
}

/** An entity that has a draft. */
export type OpenDraft = Entity & { draft: DraftForm };

/** A draft that is created now, without problems. */
export function newDraft(document: StoredDocument, revision: number, at: Date): DraftForm {
  return {
    document,
    issues: [],
    revision,
    lockedBy: null,
    restrictionRevision: 0,
    createdAt: at,
    updatedAt: at,
  };
}

/** @throws Error for an entity that was read without its relations */
export function relationsOf({ id, related }: Entity): Readonly<Record<Form, readonly string[]>> {
  if (related === undefined) throw new Error(`${id} was read without its relations`);
  return related;
}

export function refKey({ id, form }: EntityRef): string {
  return `${form}:${id}`;
}

/** Why an entity may be removed; the ids of InvenioRDM's vocabulary of removal reasons, and `takedown-request`. */
export const REMOVAL_REASONS = [
  'copyright',
  'duplicate',
  'misconduct',
  'out-of-scope',
  'personal-data',
  'retracted',
  'spam',
  'takedown-request',
  'test-record',
] as const;

export type RemovalReason = (typeof REMOVAL_REASONS)[number];

/** The stored removal, as shown in its tombstone. */
export interface Removal {
  reason: RemovalReason;
  /** For the public; may be empty. */
  note: string;
  /** The user who removed it. */
  removedBy: string;
  /** RFC 3339, UTC. */
  removedAt: string;
  /** Creators, year and title. */
  citation: string;
}

export function isRemovalReason(text: string): text is RemovalReason {
  return REMOVAL_REASONS.some((reason) => reason === text);
}

/** The answer to every read of a removed entity: 410 with a tombstone, in the shape of InvenioRDM. */
export function removedError({ reason, note, removedBy, removedAt, citation }: Removal): ServiceError {
  return new ServiceError('gone', 'The record has been deleted.', {
    code: 'removed',
    members: {
      tombstone: {
        removal_reason: { id: reason },
        note,
        removed_by: { user: removedBy },
        removal_date: removedAt,
        citation_text: citation,
        is_visible: true,
      },
    },
  });
}

/** Creators, year and title of a document, as far as it has them. */
export function citationOf({ metadata }: StoredDocument): string {
  const creators = Array.isArray(metadata['creators']) ? metadata['creators'] : [];
  const names = creators.flatMap(nameOf).slice(0, 3);
  const more = creators.length > names.length ? ['et al.'] : [];
  const year = /^\d{4}/.exec(String(metadata['publication_date'] ?? ''))?.[0];
  const title = typeof metadata['title'] === 'string' ? metadata['title'] : '';
  return [[...names, ...more].join('; '), year === undefined ? '' : `(${year}).`, title]
    .filter((part) => part !== '')
    .join(' ');
}

function nameOf(creator: unknown): string[] {
  const { person_or_org: person } = (creator ?? {}) as { person_or_org?: unknown };
  const { name, family_name: family, given_name: given } = (person ?? {}) as Record<string, unknown>;
  const full = [family, given].filter((part) => typeof part === 'string' && part !== '').join(', ');
  if (full !== '') return [full];
  return typeof name === 'string' && name !== '' ? [name] : [];
}
