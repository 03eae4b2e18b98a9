import { newDraft, type StoredDocument } from '@kr/draft-lifecycle';
import { checkMetadata, OPEN_ACCESS, RELEASED_VOCABULARIES } from '@kr/metadata';
import type { LifecycleTables } from './memory-lifecycle-store.ts';

interface NewEntity {
  readonly id: string;
  readonly parentId: string;
  readonly kind: 'package' | 'record';
  readonly at: Date;
}

export function addDraft(
  { parents, versions, drafts }: LifecycleTables,
  { id, parentId, managedBy, kind, at }: NewEntity & { managedBy: string | null },
): void {
  parents.rows.set(parentId, { id: parentId, ownerId: 'owner', managedBy });
  versions.rows.set(id, { ...NEVER_PUBLISHED, id, parentId });
  const document = documentOf(kind);
  drafts.rows.set(id, { id, ...newDraft(document, 1, at) });
}

export function addPublished(
  { parents, versions }: LifecycleTables,
  { id, parentId, kind, at }: NewEntity,
): void {
  parents.rows.set(parentId, { id: parentId, ownerId: 'owner', managedBy: null });
  const document = documentOf(kind);
  const published = {
    ...document,
    files: { ...document.files, entries: 1, total_bytes: 1 },
  };
  versions.rows.set(id, {
    ...NEVER_PUBLISHED,
    id,
    parentId,
    document: published,
    revision: 2,
    createdAt: at,
    updatedAt: at,
  });
}

const NEVER_PUBLISHED = {
  versionIndex: 1,
  document: null,
  revision: 0,
  draftRevision: 0,
  createdAt: null,
  updatedAt: null,
  staged: null,
};

/** Each edit appends a number to the title, so the title lists the edits that it contains, in order. */
export function metadataOf(title: string): object {
  return {
    title,
    publication_date: '2024-03-01',
    resource_type: { id: 'image-photo' },
    creators: [{ person_or_org: { type: 'personal', family_name: 'Carberry', given_name: 'Josiah' } }],
  };
}

const DOCUMENTS = { package: newDocument('package'), record: newDocument('record') };

export function documentOf(kind: NewEntity['kind']): StoredDocument {
  return DOCUMENTS[kind];
}

function newDocument(kind: NewEntity['kind']): StoredDocument {
  const { metadata } = checkMetadata(metadataOf('Flood'), kind, {
    strict: false,
    vocabularies: RELEASED_VOCABULARIES,
  });
  return {
    metadata,
    access: OPEN_ACCESS,
    files: { enabled: kind === 'record', default_preview: null, order: [] },
    pids: {},
    custom_fields: {},
  };
}
