import { ServiceError } from '@kr/service-error';
import type pg from 'pg';
import type { EntityForm, EntityKind, IndexedEntity, SuggestionType } from '../documents/entity.ts';
import type { Box } from '../documents/geometry-boxes.ts';
import type { IndexRow } from '../documents/index-row.ts';
import type { Condition } from '../query/query-conditions.ts';
import type { Deadline } from './deadline.ts';

export function searchTimeout(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The search took too long.', {
    code: 'search_timeout',
    retryAfterMs: 1_000,
    cause,
  });
}

/** A deleted form. It stays in the index for a while, so that a late copy of the form cannot restore it. */
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
   * Published forms that may belong to a publication whose other entities are missing: new forms are found only by
   * their ids until they are among `entities`. Drafts are treated as usual.
   */
  staged?: readonly IndexedEntity[];
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

/** The documents of a listing. */
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
  /** The published ones among `onlyIds`: if the index has only a draft of one, it is missing. */
  publishedIds: readonly string[];
}

export type Sort = 'bestmatch' | 'newest' | 'oldest' | 'version' | 'updated-desc' | 'updated-asc';

export interface EngineSearch {
  viewer: Viewer;
  scope: Scope;
  query: Condition | null;
  /** Documents with a geometry in any of them; null does not restrict. */
  boxes: readonly Box[] | null;
  sort: Sort;
  offset: number;
  limit: number;
  /**
   * Only hits after this position in the order of the sort, which is not `bestmatch`; null starts with the first. The
   * total and the facets count all hits.
   */
  after: SortPosition | null;
  /** Names of the facets to count. */
  facets: readonly string[];
  /** Facet name → chosen values, alternatives within a facet; narrows hits and total, not the counts. */
  selected: Readonly<Record<string, readonly string[]>>;
  now: Date;
}

/** The position of a document in a sort: the compared values, and the id and form that decide between equal ones. */
export interface SortPosition {
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

export interface EngineHit extends SortPosition {
  kind: EntityKind;
}

export interface EngineAnswer {
  hits: readonly EngineHit[];
  total: number;
  /** The most frequent values first, ties by value, at most ten for each facet and each outer value. */
  facets: Readonly<Record<string, readonly FacetCount[]>>;
  /** Ids of `onlyIds` that should have a document in the index but have none. */
  missing: readonly string[];
}

export interface EngineSuggest {
  viewer: Viewer;
  kinds: readonly EntityKind[];
  type: SuggestionType;
  /** Folded words, one or more: each is a prefix of a word of a suggested value. */
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

/** Values that follow from other forms and from the history of this one. */
export interface Flags {
  isDeleted: boolean;
  /** See `IndexChanges.staged`. */
  isStaged: boolean;
  isLatest: boolean;
  isLatestDraft: boolean;
  hasDraft: boolean;
}

export const FLAGS = ['isDeleted', 'isStaged', 'isLatest', 'isLatestDraft', 'hasDraft'] as const;

export function haveSameFlags(one: Flags, other: Flags): boolean {
  return FLAGS.every((flag) => one[flag] === other[flag]);
}

export function flagsOf({ isDeleted, isStaged, isLatest, isLatestDraft, hasDraft }: Flags): Flags {
  return { isDeleted, isStaged, isLatest, isLatestDraft, hasDraft };
}

/** The data of a stored form that decide about changes, without its content. */
export interface Head extends Flags {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parentId: string;
  /** As decimal text. */
  revision: string;
  versionIndex: number;
  /** As `IndexRow.contentHash`; empty for tombstones. */
  contentHash: string;
  /** The stored version that an engine without transactions replaces; null if there is none. */
  version: { seqNo: number; primaryTerm: number } | null;
}

/** Heads by `keyOf`. */
export type Heads = ReadonlyMap<string, Head>;

/** The key of a form. */
export function keyOf({ id, form }: { id: string; form: EntityForm }): string {
  return `${form}:${id}`;
}

/** The change of one form. */
export interface Operation<Content> {
  /** The form afterwards. */
  head: Head;
  /** Its flags before; null if it was not stored. */
  former: Flags | null;
  /** `flags`: its content stays. `remove`: nothing stays, no tombstone either. */
  change: { content: Content } | 'tombstone' | 'flags' | 'remove';
}

/** Which heads `SearchEngine.states` lists. */
export interface StateFilter {
  kind?: EntityKind;
  isDeleted?: boolean;
  isStaged?: boolean;
  /** Forms with an embargo that ended before. */
  embargoEndedBy?: Date;
  deletedBefore?: Date;
}

/** The ids of generations. Other schemas and indexes may have the same prefix. */
export const GENERATION_ID = /^[0-9a-z]{8}[0-9a-f]{6}$/u;

/** A result, with the id of the generation that was live then. */
export interface Answered<Answer> {
  answer: Answer;
  live: string | null;
}

/** A transaction in the service's database that only one writer has at a time. */
export type Transaction = Pick<pg.ClientBase, 'query'>;

/** The mode of a write. */
export interface Write {
  tx: Transaction;
  /** The generation is not searched: operations may become visible later, or one by one. */
  isBulk: boolean;
}

/**
 * Stores generations of the index and searches them. The rules about changes are not here: `index/decide-changes.ts`.
 * Every engine passes `index/testing/search-index.contract.ts`.
 */
export interface SearchEngine<Content = unknown> {
  /** For operators, for example `postgres`. */
  readonly name: string;
  /** Increased with every change of the stored form: generations of another layout are not used. */
  readonly layout: number;
  /** The stored form of a row. May take up to a second, so it can be interrupted. */
  encode(row: IndexRow): Generator<void, Content>;
  /**
   * @param deadline for all statements together
   * @throws ServiceError `unavailable` with code `search_timeout` when it takes too long; `invalid` for a query whose
   * values do not fit their fields
   */
  search(generation: string, search: EngineSearch, deadline: Deadline): Promise<Answered<EngineAnswer>>;
  /**
   * Values of the newest published versions that the viewer may read, by number of documents, then by value.
   * @throws ServiceError `unavailable` with code `search_timeout` when it takes too long
   */
  suggest(
    generation: string,
    suggest: EngineSuggest,
    deadline: Deadline,
  ): Promise<Answered<readonly Suggestion[]>>;
  /**
   * All forms of these ids and parents. With a write, it reads all writes of earlier transactions.
   */
  heads(
    generation: string,
    about: { ids: readonly string[]; parentIds: readonly string[] },
    write: Write | null,
  ): Promise<Heads>;
  /** One page of forms, by id and form, after a position (exclusive). */
  states(
    generation: string,
    filter: StateFilter,
    after: Pick<Head, 'id' | 'form'> | null,
    limit: number,
  ): Promise<Head[]>;
  /**
   * Executes operations that were decided in this transaction. All become visible at once, at the latest when it
   * returns or the transaction is committed.
   * @returns false when a form has changed since its head was read: some were executed, decide again
   */
  apply(generation: string, operations: readonly Operation<Content>[], write: Write): Promise<boolean>;
  /** Forms that are not deleted. */
  count(generation: string): Promise<number>;
  /** Creates an empty generation for bulk writes. */
  create(generation: string, tx: Transaction): Promise<void>;
  /** Prepares a generation for searches, during writes. May be repeated. @param isIdle whether all processors may be used */
  seal(generation: string, isIdle: boolean): Promise<void>;
  /** The ids of all generations. */
  list(): Promise<string[]>;
  drop(generation: string): Promise<void>;
  stop(): Promise<void>;
}

/** One form that differs between the index and its service. */
export interface IndexDifference {
  id: string;
  form: EntityForm;
  kind: EntityKind;
  parentId: string;
  /** `missing`: only the service has it; `stale`: both have it, with differences; `ghost`: only the index has it. */
  problem: 'missing' | 'stale' | 'ghost';
  /** The change number in the index, also of a tombstone; null if the index has neither. */
  revision: string | null;
}
