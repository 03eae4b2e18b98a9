import type { IndexDocument__Output } from '@kr/contracts';
import { edtfBounds, type Vocabularies } from '@kr/metadata';
import { at } from '../documents/document-fields.ts';
import type { EntityForm, EntityKind, IndexedEntity, SuggestionType } from '../documents/entity.ts';
import { geometryBoxes } from '../documents/geometry-boxes.ts';

/** The values an entity has for each facet (nested ones as `type` and `type::subtype`). */
function facetValues(
  document: Readonly<Record<string, unknown>>,
  vocabularies: Vocabularies,
): Record<string, string[]> {
  const values: Record<string, string[]> = {
    category: texts(at(document, 'parent.category')),
    record_type: texts(at(document, 'parent.type')),
    geo_work_programme_activity: texts(at(document, 'metadata.geo_work_programme_activity.id')),
    target_audience: distinctTexts(at(document, 'metadata.target_audiences'), 'id'),
    engagement_priority: distinctTexts(at(document, 'metadata.engagement_priorities'), 'id'),
    subject: distinctTexts(at(document, 'metadata.subjects'), 'subject'),
    language: distinctTexts(at(document, 'metadata.languages'), 'id'),
    access_status: texts(at(document, 'access.status')),
    is_published: texts(at(document, 'is_published')),
    ...resourceType(at(document, 'metadata.resource_type.id'), vocabularies),
  };
  return Object.fromEntries(Object.entries(values).filter(([, list]) => list.length > 0));
}

function resourceType(
  id: unknown,
  vocabularies: Vocabularies,
): { resource_type: string[]; base_type: string[] } {
  if (typeof id !== 'string') return { resource_type: [], base_type: [] };
  const props = vocabularies.lookup('resourcetypes', id)?.props ?? {};
  const type = props['type'] || id.split('-', 1)[0] || id;
  const subtype = props['subtype'] ?? '';
  return {
    resource_type: subtype === '' ? [type] : [type, `${type}::${subtype}`],
    base_type: texts(props['basetype']),
  };
}

function distinctTexts(list: unknown, name: string): string[] {
  return [...new Set(each(list, name).flatMap(texts))];
}

function texts(value: unknown): string[] {
  if (typeof value === 'boolean') return [String(value)];
  return typeof value === 'string' && value !== '' && value.length <= 256 ? [value] : [];
}

/** Longer values are not suggested. */
const MAX_SUGGESTION_LENGTH = 300;
/** Per type and document. */
const MAX_SUGGESTIONS = 500;

/** The values of a document for completions. */
function suggestedValues(document: Readonly<Record<string, unknown>>): Record<SuggestionType, string[]> {
  return {
    title: suggestable([at(document, 'metadata.title')]),
    creator: suggestable(each(at(document, 'metadata.creators'), 'person_or_org.name')),
    subject: suggestable(each(at(document, 'metadata.subjects'), 'subject')),
  };
}

function each(list: unknown, path: string): unknown[] {
  return Array.isArray(list) ? list.map((item) => at(item, path)) : [];
}

function suggestable(values: readonly unknown[]): string[] {
  const texts = values.flatMap((value) => (typeof value === 'string' ? [value.trim()] : []));
  return [...new Set(texts.filter((text) => text !== '' && text.length <= MAX_SUGGESTION_LENGTH))].slice(
    0,
    MAX_SUGGESTIONS,
  );
}

/** The index form of one entity document. */
export function indexedEntity(
  message: IndexDocument__Output,
  kind: EntityKind,
  vocabularies: Vocabularies,
): IndexedEntity {
  const document = searchableDocument(JSON.parse(message.json.toString('utf8')), kind);
  const publication = at(document, 'metadata.publication_date');
  const bounds = typeof publication === 'string' ? edtfBounds(publication) : undefined;
  return {
    id: message.id,
    form: formOf(message.form),
    kind,
    parentId: message.parentId,
    managedBy: managedBy(document),
    ownerId: message.ownerId,
    recordAccess: message.recordAccess === 'public' ? 'public' : 'restricted',
    embargoUntil: embargoUntil(document),
    versionIndex: message.versionIndex,
    createdAt: instant(message.createdAt),
    updatedAt: instant(message.updatedAt),
    revision: message.revision,
    publicationFrom: bounds?.first ?? null,
    publicationTo: bounds?.last ?? null,
    facets: facetValues(document, vocabularies),
    suggestions: suggestedValues(document),
    boxes: geometryBoxes(geometries(document)),
    document,
    sizeBytes: message.json.length,
  };
}

function formOf(form: string): EntityForm {
  if (form === 'FORM_DRAFT') return 'draft';
  if (form === 'FORM_PUBLISHED') return 'published';
  throw new Error(`an index document has the form ${form}`);
}

/** All packages have the same resource type; they are in no bucket of that facet. */
function searchableDocument(document: Record<string, unknown>, kind: EntityKind): Record<string, unknown> {
  const metadata = document['metadata'];
  if (kind !== 'package' || typeof metadata !== 'object' || metadata === null) return document;
  const { resource_type: _, ...rest } = metadata as Record<string, unknown>;
  return { ...document, metadata: rest };
}

function managedBy(document: Readonly<Record<string, unknown>>): string | null {
  const id = at(document, 'parent.relationship.managed_by.id');
  return typeof id === 'string' ? id : null;
}

/** An embargo ends when its day begins, in UTC. */
function embargoUntil(document: Readonly<Record<string, unknown>>): string | null {
  const until = at(document, 'access.embargo.until');
  const isActive = at(document, 'access.embargo.active') === true;
  if (!isActive || typeof until !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(until)) return null;
  // Drafts may have days that do not exist, and of the year zero; Postgres accepts neither.
  const isDay = edtfBounds(until) !== undefined && !until.startsWith('0000');
  return isDay ? `${until}T00:00:00.000000Z` : null;
}

function geometries(document: Readonly<Record<string, unknown>>): unknown[] {
  const features = at(document, 'metadata.locations.features');
  return Array.isArray(features) ? features.map((feature) => at(feature, 'geometry')) : [];
}

function instant(timestamp: IndexDocument__Output['createdAt']): string {
  const { seconds, nanos } = timestamp ?? { seconds: '0', nanos: 0 };
  const micros = String(Math.floor(nanos / 1_000)).padStart(6, '0');
  return `${new Date(Number(seconds) * 1_000).toISOString().slice(0, 19)}.${micros}Z`;
}
