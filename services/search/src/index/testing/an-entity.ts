import type { IndexDocument__Output } from '@kr/contracts';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import type { EntityForm, EntityKind, IndexedEntity } from '../../documents/entity.ts';
import { indexedEntity } from '../../sources/indexed-entity.ts';

export interface EntityTraits {
  id: string;
  kind?: EntityKind;
  form?: EntityForm;
  parentId?: string;
  managedBy?: string;
  ownerId?: string;
  access?: 'public' | 'restricted';
  embargoUntil?: string;
  versionIndex?: number;
  revision?: number;
  /** Seconds after the epoch. */
  createdAt?: number;
  updatedAt?: number;
  title?: string;
  resourceType?: string;
  metadata?: Record<string, unknown>;
  geometry?: unknown;
  document?: Record<string, unknown>;
}

/** The message of a service about a plain published record, with the given overrides. */
export function anIndexDocument(traits: EntityTraits): IndexDocument__Output {
  const { id, kind = 'record', form = 'published', access = 'public', createdAt = 1_700_000_000 } = traits;
  const { parentId = `parent-of-${id}`, versionIndex = 1, updatedAt = createdAt, embargoUntil } = traits;
  const isPublished = form === 'published';
  const json = {
    id,
    parent: {
      id: parentId,
      type: kind === 'package' ? 'package' : 'resource',
      category: 'open',
      relationship: { managed_by: traits.managedBy === undefined ? {} : { id: traits.managedBy } },
    },
    versions: { index: versionIndex, is_latest: isPublished, is_latest_draft: true },
    is_published: isPublished,
    is_draft: !isPublished,
    pids: {},
    metadata: {
      title: traits.title ?? `Title of ${id}`,
      resource_type: { id: traits.resourceType ?? 'image-photo', title: { en: 'Photo' } },
      ...(traits.geometry === undefined ? {} : { locations: { features: [{ geometry: traits.geometry }] } }),
      ...traits.metadata,
    },
    access: {
      record: access,
      files: access,
      embargo: {
        active: embargoUntil !== undefined,
        reason: null,
        ...(embargoUntil ? { until: embargoUntil } : {}),
      },
      status: embargoUntil ? 'embargoed' : access === 'public' ? 'metadata-only' : 'restricted',
    },
    files: { enabled: false, order: [] },
    ...traits.document,
  };
  return {
    id,
    parentId,
    form: isPublished ? 'FORM_PUBLISHED' : 'FORM_DRAFT',
    revision: String(traits.revision ?? 1),
    json: Buffer.from(JSON.stringify(json)),
    ownerId: traits.ownerId ?? 'owner',
    recordAccess: access,
    versionIndex,
    createdAt: { seconds: String(createdAt), nanos: 0 },
    updatedAt: { seconds: String(updatedAt), nanos: 0 },
  };
}

export function anEntity(traits: EntityTraits): IndexedEntity {
  return indexedEntity(anIndexDocument(traits), traits.kind ?? 'record', RELEASED_VOCABULARIES);
}
