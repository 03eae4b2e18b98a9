import { renderAccess, renderMetadata, type Vocabularies } from '@kr/metadata';
import type { Issue } from '@kr/service-error';
import type { Entity, EntityForm, Form, JsonObject, Parent, StoredFiles } from './entity.ts';
import type { EntityKind } from './kind.ts';
import { type DoiStates, renderConceptPids, renderPids } from './pids.ts';

/** Parts of an entity that its reader may see besides its content. */
export interface View {
  canManage: boolean;
  canEdit: boolean;
  canReadFiles: boolean;
}

export interface Rendering {
  kind: EntityKind;
  form: Form;
  view: View;
  /** The ids of `relationship`. */
  related: readonly string[];
  fileCount: number;
  issues: readonly Issue[];
  dois: DoiStates;
  vocabularies: Vocabularies;
  now: Date;
}

/** The public document of one form, without `links`, in the order of the keys that clients see. */
export function renderEntity(
  id: string,
  content: EntityForm,
  parts: VolatileParts,
  { kind, form, vocabularies }: Pick<Rendering, 'kind' | 'form' | 'vocabularies'>,
): JsonObject {
  const { document } = content;
  return {
    id,
    created: instant(content.createdAt),
    updated: instant(content.updatedAt),
    revision_id: content.revision,
    parent: parts.parent,
    versions: parts.versions,
    is_published: parts.is_published,
    is_draft: form === 'draft',
    ...(form === 'draft' ? { expires_at: instant(content.createdAt) } : {}),
    pids: parts.pids,
    metadata: renderMetadata(document.metadata, kind.name, vocabularies),
    custom_fields: document.custom_fields,
    access: parts.access,
    files: parts.files,
    status: parts.status,
    relationship: parts.relationship,
    ...kind.extraFields,
    ...(parts.errors.length > 0 ? { errors: parts.errors } : {}),
  };
}

/** The parts of a document that may change, or differ from reader to reader, while its revision stays the same. */
export interface VolatileParts {
  parent: JsonObject;
  pids: JsonObject;
  versions: JsonObject;
  is_published: boolean;
  access: JsonObject;
  files: JsonObject;
  status: string;
  relationship: JsonObject;
  errors: readonly JsonObject[];
}

export function volatileParts(
  entity: Entity,
  { document }: EntityForm,
  rendering: Omit<Rendering, 'vocabularies'>,
): VolatileParts {
  const { kind, form, view, related, fileCount, issues, dois, now } = rendering;
  return {
    parent: {
      ...renderParent(entity.parent, kind, view),
      ...renderConceptPids(entity.parent, document.pids, dois),
    },
    pids: renderPids(document.pids, dois),
    versions: versionsOf(entity, view.canEdit),
    is_published: isPublished(entity, form, kind.isEditDraftPublished),
    access: renderAccess(document.access, fileCount, now),
    files: renderFiles(document.files, view),
    status: statusOf(entity),
    relationship: { [kind.relationKey]: related.map((id) => ({ id })) },
    errors: issues.map(({ field, messages }) => ({ field, messages })),
  };
}

/** The parts as the owner saw them right after saving; the baseline of the ETag's variant. */
export function baselineParts(
  entity: Entity,
  content: EntityForm,
  { kind, form, fileCount, issues, dois }: Pick<Rendering, 'kind' | 'form' | 'fileCount' | 'issues' | 'dois'>,
): VolatileParts {
  const { versionIndex, parent } = entity;
  const alone: Entity = {
    ...entity,
    parent: { ...parent, managedBy: null, wasManaged: false, linkIds: [] },
    latestIndex: versionIndex,
    lastIndex: versionIndex,
  };
  const view = { canManage: true, canEdit: true, canReadFiles: true };
  return volatileParts(alone, content, {
    kind,
    form,
    view,
    related: [],
    fileCount,
    issues,
    dois,
    now: content.updatedAt,
  });
}

function renderParent(parent: Parent, kind: EntityKind, { canManage }: View): JsonObject {
  return {
    id: parent.id,
    ...(canManage
      ? {
          access: {
            owned_by: [{ user: renderUser(parent.ownerId) }],
            links: parent.linkIds.map((id) => ({ id })),
          },
        }
      : {}),
    communities: {},
    type: kind.parentType,
    category: 'open',
    harvester: {},
    ...(kind.showsManagement ? { relationship: renderManagement(parent) } : {}),
  };
}

/** User ids are numbers to clients; one that is none is shown as it is. */
function renderUser(id: string): string | number {
  return /^(0|[1-9]\d{0,14})$/.test(id) ? Number(id) : id;
}

/** Empty once a package has released it. */
function renderManagement({ managedBy, wasManaged }: Parent): JsonObject {
  if (managedBy !== null) return { managed_by: { id: managedBy } };
  return wasManaged ? {} : { managed_by: {} };
}

function renderFiles({ enabled, default_preview: preview, order }: StoredFiles, view: View): JsonObject {
  if (!view.canReadFiles) return { enabled };
  return { enabled, ...(preview === null ? {} : { default_preview: preview }), order };
}

/** ISO 8601, UTC, with microseconds. */
function instant(at: Date): string {
  return at.toISOString().replace('Z', '000Z');
}

/** `versions` of the public document. Drafts are visible to editors only. */
export function versionsOf(
  entity: Pick<Entity, 'published' | 'versionIndex' | 'latestIndex' | 'lastIndex'>,
  canSeeDrafts: boolean,
): { is_latest: boolean; is_latest_draft?: boolean; index: number } {
  const { published, versionIndex, latestIndex, lastIndex } = entity;
  return {
    is_latest: isLatest({ published, versionIndex, latestIndex }),
    ...(canSeeDrafts ? { is_latest_draft: versionIndex === lastIndex } : {}),
    index: versionIndex,
  };
}

/** Derived, never stored: the highest version that is published. */
function isLatest({
  published,
  versionIndex,
  latestIndex,
}: Pick<Entity, 'published' | 'versionIndex' | 'latestIndex'>): boolean {
  return published !== null && versionIndex === latestIndex;
}

export type Status = 'draft' | 'published' | 'new_version_draft';

/** An edit draft keeps the status of its published version. */
export function statusOf({ published, versionIndex }: Pick<Entity, 'published' | 'versionIndex'>): Status {
  if (published !== null) return 'published';
  return versionIndex === 1 ? 'draft' : 'new_version_draft';
}

/** `is_published`: kinds differ on the draft of a published entity. */
export function isPublished(
  { published }: Pick<Entity, 'published'>,
  form: Form,
  isEditDraftPublished: boolean,
): boolean {
  return published !== null && (form === 'published' || isEditDraftPublished);
}
