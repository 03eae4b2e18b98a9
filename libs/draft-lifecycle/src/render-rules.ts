import { renderAccess, renderMetadata } from '@kr/metadata';
import type { Issue } from '@kr/service-error';
import type { Entity, Face, Form, Parent } from './entity.ts';
import type { EntityKind } from './entity-kind.ts';
import type { JsonObject } from './json-object.ts';
import type { StoredPids } from './pids-rules.ts';
import type { StoredFiles } from './stored-document.ts';
import { isPublished, statusOf, versionsOf } from './version-rules.ts';

/** What of an entity its reader may see beside its content. */
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
  now: Date;
}

/** The public document of one form, without `links`, in the order of the keys that clients see. */
export function renderEntity(entity: Entity, face: Face, rendering: Rendering): JsonObject {
  const { kind, form, view, related, fileCount, issues, now } = rendering;
  const { document } = face;
  return {
    id: entity.id,
    created: instant(face.createdAt),
    updated: instant(face.updatedAt),
    revision_id: face.revision,
    parent: renderParent(entity.parent, kind, view),
    versions: versionsOf(entity, view.canEdit),
    is_published: isPublished(entity, form, kind.isEditDraftPublished),
    is_draft: form === 'draft',
    ...(form === 'draft' ? { expires_at: instant(face.createdAt) } : {}),
    pids: renderPids(document.pids),
    metadata: renderMetadata(document.metadata, kind.name),
    custom_fields: document.custom_fields,
    access: renderAccess(document.access, fileCount, now),
    files: renderFiles(document.files, view),
    status: statusOf(entity),
    relationship: { [kind.relationKey]: related.map((id) => ({ id })) },
    ...kind.tail,
    ...(issues.length > 0 ? { errors: issues.map(({ field, messages }) => ({ field, messages })) } : {}),
  };
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

/** In the order that clients know; the database keeps none. */
function renderPids(pids: StoredPids): JsonObject {
  return Object.fromEntries(
    ['doi', 'oai'].flatMap((scheme) => {
      const pid = pids[scheme];
      if (pid === undefined) return [];
      const { identifier, provider, client } = pid;
      return [[scheme, { identifier, provider, ...(client === undefined ? {} : { client }) }]];
    }),
  );
}

/** Empty altogether once a package has let go of it. */
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
