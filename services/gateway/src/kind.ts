/** The two kinds of entity, each behind its own path prefix: resources are `record`s there. */
export type Kind = 'record' | 'package';

/** The two forms of an entity. */
export type Form = 'draft' | 'published';

export const KINDS = ['record', 'package'] as const satisfies readonly Kind[];

/** The first part of the path, after `/api/` for the interface and after `/` for pages. */
export const COLLECTION = { record: 'records', package: 'packages' } as const satisfies Record<Kind, string>;

/** The names of a kind in the description of the interface: in operation ids, and in sentences. */
export const KIND_NAMES = {
  record: { title: 'Record', noun: 'resource' },
  package: { title: 'Package', noun: 'package' },
} as const satisfies Record<Kind, object>;

/** The word for a form in IIIF identifiers. */
export const IIIF_PREFIX = {
  record: { draft: 'draft', published: 'record' },
  package: { draft: 'package-draft', published: 'package' },
} as const satisfies Record<Kind, Record<Form, string>>;
