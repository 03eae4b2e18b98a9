import type { Json } from '../rendering/entity-json.ts';

/** What a row or a feature says of an entity. */
export interface HitProperties {
  id: string;
  doi: string | null;
  title: string | null;
  creators: string[];
  publication_date: string | null;
  resource_type: string | null;
  access_status: string | null;
  url: string | null;
}

/** Of the public document of an entity. Drafts may lack anything, or have something else in its place. */
export function hitProperties(entity: Json): HitProperties {
  const creators = at(entity, 'metadata', 'creators');
  return {
    id: text(at(entity, 'id')) ?? '',
    doi: text(at(entity, 'pids', 'doi', 'identifier')),
    title: text(at(entity, 'metadata', 'title')),
    creators: (Array.isArray(creators) ? creators : []).flatMap(
      (creator) => text(at(creator, 'person_or_org', 'name')) ?? [],
    ),
    publication_date: text(at(entity, 'metadata', 'publication_date')),
    resource_type: text(at(entity, 'metadata', 'resource_type', 'id')),
    access_status: text(at(entity, 'access', 'status')),
    url: text(at(entity, 'links', 'self')),
  };
}

/** The value below these names; undefined where they do not lead anywhere. */
export function at(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Json)[name]
        : undefined,
    value,
  );
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
