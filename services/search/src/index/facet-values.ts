import { lookup } from '@kr/metadata';
import { at } from './document-fields.ts';

/** The values an entity has for each facet (nested ones as `type` and `type::subtype`). */
export function facetValues(document: Readonly<Record<string, unknown>>): Record<string, string[]> {
  const values: Record<string, string[]> = {
    category: texts(at(document, 'parent.category')),
    record_type: texts(at(document, 'parent.type')),
    geo_work_programme_activity: texts(at(document, 'metadata.geo_work_programme_activity.id')),
    target_audience: each(at(document, 'metadata.target_audiences'), 'id'),
    engagement_priority: each(at(document, 'metadata.engagement_priorities'), 'id'),
    subject: each(at(document, 'metadata.subjects'), 'subject'),
    language: each(at(document, 'metadata.languages'), 'id'),
    access_status: texts(at(document, 'access.status')),
    is_published: texts(at(document, 'is_published')),
    ...resourceType(at(document, 'metadata.resource_type.id')),
  };
  return Object.fromEntries(Object.entries(values).filter(([, list]) => list.length > 0));
}

function resourceType(id: unknown): { resource_type: string[]; base_type: string[] } {
  if (typeof id !== 'string') return { resource_type: [], base_type: [] };
  const props = lookup('resourcetypes', id)?.props ?? {};
  const type = props['type'] || id.split('-', 1)[0] || id;
  const subtype = props['subtype'] ?? '';
  return {
    resource_type: subtype === '' ? [type] : [type, `${type}::${subtype}`],
    base_type: texts(props['basetype']),
  };
}

function each(list: unknown, name: string): string[] {
  return Array.isArray(list) ? [...new Set(list.flatMap((item) => texts(at(item, name))))] : [];
}

function texts(value: unknown): string[] {
  if (typeof value === 'boolean') return [String(value)];
  return typeof value === 'string' && value !== '' && value.length <= 256 ? [value] : [];
}
