import { ServiceError } from '@kr/service-error';
import type { Box } from '../index/geometry-boxes.ts';
import type { QueryNode } from '../query/query-tree.ts';

export function searchTimeout(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The search took too long.', {
    code: 'search_timeout',
    retryAfterMs: 1_000,
    cause,
  });
}

export type EntityKind = 'record' | 'package';
export type EntityForm = 'draft' | 'published';

/** One form of an entity, ready to be indexed. Instants are ISO 8601 in UTC with microseconds. */
export interface IndexedEntity {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parentId: string;
  /** The parent of the package whose links open it too; null if there is none. */
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

/** A form that is gone. It stays in the index as a mark, so that a late copy cannot bring it back. */
export interface Tombstone {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parentId: string;
  /** The change number of the deletion, as decimal text: a restored entity has a higher one. */
  revision: string;
}

/** Changes that become visible at one moment. */
export interface IndexChanges {
  entities?: readonly IndexedEntity[];
  /**
   * Published forms that may belong to a publication whose other entities are missing: new ones are
   * hidden from all searches but those by their id, until they are among `entities`. Drafts are treated as usual.
   */
  unannounced?: readonly IndexedEntity[];
  tombstones?: readonly Tombstone[];
}

/** The viewer. Applied in addition to the query, so no query can widen it. */
export interface Viewer {
  seesAll: boolean;
  userId: string | null;
  /**
   * Parents whose published versions, or also drafts, an access link opens, with the entities that they
   * manage.
   */
  viewParentIds: readonly string[];
  previewParentIds: readonly string[];
}

/** Which documents a listing is made of. */
export interface Scope {
  /**
   * `published`: published forms. `own`: the viewer's drafts, and published ones without a draft. `either`: one
   * form of each entity, the draft for viewers who may read it.
   */
  forms: 'published' | 'own' | 'either';
  kinds: readonly EntityKind[];
  /** Only the newest version of each parent. */
  latestOnly: boolean;
  /** Null does not restrict. */
  onlyIds: readonly string[] | null;
  /** Those of `onlyIds` that are known to be published: of them a published form is missed where there is none. */
  publishedIds: readonly string[];
}

export type Sort = 'bestmatch' | 'newest' | 'oldest' | 'version' | 'updated-desc' | 'updated-asc';

export interface EngineSearch {
  viewer: Viewer;
  scope: Scope;
  query: QueryNode | null;
  /** Documents with a geometry in any of them; null does not restrict. */
  boxes: readonly Box[] | null;
  sort: Sort;
  offset: number;
  limit: number;
  /**
   * Only hits that this sort, which is not `bestmatch`, puts behind this place; null begins with the first. The total
   * and the facets count all of them.
   */
  after: Place | null;
  /** Names of the facets to count. */
  facets: readonly string[];
  /** Facet name → chosen values, alternatives within a facet; narrows hits and total, not the counts. */
  selected: Readonly<Record<string, readonly string[]>>;
  now: Date;
}

/** Where a sort puts a document: what it compares, and the id and form that decide between equals. */
export interface Place {
  id: string;
  form: EntityForm;
  /** ISO 8601 in UTC with microseconds. */
  createdAt: string;
  updatedAt: string;
  versionIndex: number;
}

export interface FacetCount {
  value: string;
  count: number;
}

export interface EngineHit extends Place {
  kind: EntityKind;
}

export interface EngineAnswer {
  hits: readonly EngineHit[];
  total: number;
  /** The most frequent values first, ties by value, at most ten for each facet and each outer value. */
  facets: Readonly<Record<string, readonly FacetCount[]>>;
  /** Of the ids that the scope is restricted to, those without a live document that there should be. */
  missing: readonly string[];
}

/** Kinds of completions. */
export const SUGGESTION_TYPES = ['title', 'creator', 'subject'] as const;
export type SuggestionType = (typeof SUGGESTION_TYPES)[number];

export interface EngineSuggest {
  viewer: Viewer;
  kinds: readonly EntityKind[];
  type: SuggestionType;
  /** Folded words, at least one: each begins a word of a suggested value. */
  prefixes: readonly string[];
  limit: number;
  now: Date;
}

export interface Suggestion {
  value: string;
  /** Documents that have it. */
  count: number;
  /** One or two of these documents. */
  sources: readonly SuggestionSource[];
}

export interface SuggestionSource {
  kind: EntityKind;
  id: string;
  /** As decimal text. */
  revision: string;
}

/** One form that the index holds otherwise than its service. */
export interface IndexDifference {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parentId: string;
  /** `missing`: it is there and not found; `stale`: it is found by something else than it is; `ghost`: found, but not there. */
  problem: 'missing' | 'stale' | 'ghost';
  /** The change number that the index has for it, be it of a mark; null if it knows nothing of it. */
  revision: string | null;
}

/**
 * Stores and searches documents. Every engine passes `search-engine.contract.ts`.
 * An index can be built beside the live one. Meanwhile searches use the live one only, and
 * `write` and `mend` change both, under the same rules. There is one build at a time; the caller ensures
 * this. It outlives the process.
 */
export interface SearchEngine {
  /** For operators, for example `postgres`. */
  readonly name: string;
  /**
   * @throws ServiceError `unavailable` with code `search_timeout` when it takes too long, without it when another index
   * is maintained now; `invalid` for a query whose values do not fit their fields
   * @param timeoutMs for all statements together; the configured limit by default
   */
  search(search: EngineSearch, timeoutMs?: number): Promise<EngineAnswer>;
  /**
   * Values of the newest published versions that the viewer may read, by number of documents, then by value.
   * @throws ServiceError `unavailable` with code `search_timeout` when it takes too long, without it when another index
   * is maintained now
   */
  suggest(suggest: EngineSuggest, timeoutMs?: number): Promise<readonly Suggestion[]>;
  /** All changes or none become visible, at once. Older states of a form change nothing; may be repeated. */
  write(changes: IndexChanges): Promise<void>;
  /** The kind of each id that the index knows. */
  kindsOf(ids: readonly string[]): Promise<ReadonlyMap<string, EntityKind>>;
  /** Ids of documents (after one, empty: from the start, in their order) whose embargo has passed since they were written. */
  withPassedEmbargo(now: Date, afterId: string, limit: number): Promise<{ id: string; kind: EntityKind }[]>;
  /** Forgets marks that were written before an instant. */
  deleteOldTombstones(writtenBefore: Date): Promise<void>;
  /** Whether all entities have been written since the index was created or emptied. */
  isFilled(): Promise<boolean>;
  /** From now on events alone maintain it; no form is hidden any more. */
  markFilled(): Promise<void>;
  /** Live documents, including hidden ones. */
  count(): Promise<number>;
  /**
   * Begins a build with only the tombstones of the live index, and discards an unfinished one.
   * @returns its id: processes that know only an older build cannot write into a newer one
   */
  beginBuild(): Promise<string>;
  /**
   * Writes into a build only. A form that exists in the same state stays, and is shown from now on: events wrote it, and
   * may have written newer ones.
   * @throws Error when it is not the index that is being built
   */
  build(id: string, entities: readonly IndexedEntity[]): Promise<void>;
  /**
   * Makes a build the live index, for all searches at one moment without errors, and removes the former
   * one. Hidden published forms stay hidden. May be repeated, also after success.
   * @param isAlone whether there are no searches now, so that all processors may be used
   * @throws Error when it is not the index that is being built, or `isTransient` when it was not possible now
   */
  finishBuild(id: string, isAlone?: boolean): Promise<void>;
  /** Whether the live index is the one that was built under this id. */
  isLive(buildId: string): Promise<boolean>;
  /** Ids with a live document of that kind after a position (exclusive, empty: from the start), in an order that lasts. */
  listIds(kind: EntityKind, afterId: string, limit: number): Promise<string[]>;
  /**
   * The differences of these ids in the live index, if just `entities` had been written. Whole contents are
   * compared, not change numbers alone; a hidden published form counts as missing.
   */
  compare(
    kind: EntityKind,
    ids: readonly string[],
    entities: readonly IndexedEntity[],
  ): Promise<IndexDifference[]>;
  /**
   * Replaces differing forms by `entities`, and deleted ones by tombstones, regardless of change numbers, at one moment. Forms
   * that have changed since the comparison are skipped.
   */
  mend(differences: readonly IndexDifference[], entities: readonly IndexedEntity[]): Promise<void>;
}
