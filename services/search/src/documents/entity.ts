import type { Box } from './geometry-boxes.ts';

export const ENTITY_KINDS = ['record', 'package'] as const;
export type EntityKind = (typeof ENTITY_KINDS)[number];
export type EntityForm = 'draft' | 'published';

/** One form of an entity, ready to be indexed. Instants are ISO 8601 in UTC with microseconds. */
export interface IndexedEntity {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parentId: string;
  /** The parent of the package whose links also open it; null if there is none. */
  managedBy: string | null;
  ownerId: string;
  recordAccess: 'public' | 'restricted';
  /** When a restriction ends by itself; null if it does not. */
  embargoUntil: string | null;
  versionIndex: number;
  createdAt: string;
  updatedAt: string;
  /** The change number of this form, as decimal text. */
  revision: string;
  publicationFrom: string | null;
  publicationTo: string | null;
  /** Facet name → the values of the entity; a nested facet's values are `type` and `type::subtype`. */
  facets: Readonly<Record<string, readonly string[]>>;
  /** Values that are suggested, each once. */
  suggestions: Readonly<Record<SuggestionType, readonly string[]>>;
  boxes: readonly Box[];
  /** The public JSON without `links`. */
  document: Readonly<Record<string, unknown>>;
  /** Of that as JSON. */
  sizeBytes: number;
}

/** Kinds of completions. */
export const SUGGESTION_TYPES = ['title', 'creator', 'subject'] as const;
export type SuggestionType = (typeof SUGGESTION_TYPES)[number];
