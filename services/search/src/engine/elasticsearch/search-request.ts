import type { estypes } from '@elastic/elasticsearch';
import { storableText } from '../../documents/text-tokens.ts';
import type {
  EngineAnswer,
  EngineHit,
  EngineSearch,
  FacetCount,
  Scope,
  Sort,
  SortPosition,
  Viewer,
} from '../search-engine.ts';
import {
  NESTED_FACET,
  narrowingValues,
  type Readable,
  readableDrafts,
  readablePublished,
} from '../search-rules.ts';
import { compileQuery, NOTHING, type Query } from './compile-query.ts';
import { facetName, innerFacet, instantOf, microsOf, type StoredContent } from './stored-document.ts';

const EVERYTHING: Query = { match_all: {} };

/** The live documents that a listing may show to a viewer, all of which have to match. */
export function scopeFilters(scope: Scope, viewer: Viewer, now: Date): Query[] {
  return [
    { term: { isDeleted: false } },
    { terms: { kind: [...scope.kinds] } },
    scope.onlyIds === null ? { term: { isStaged: false } } : { terms: { id: [...scope.onlyIds] } },
    ...formFilters(scope, viewer, now),
  ];
}

function formFilters(scope: Scope, viewer: Viewer, now: Date): Query[] {
  const { forms, latestOnly } = scope;
  const mayRead = readableQuery(readablePublished(viewer), now);
  const mayReadDraft = readableQuery(readableDrafts(viewer, scope), now);
  const isDraft: Query = { term: { form: 'draft' } };
  const isPublished: Query = { term: { form: 'published' } };
  const hasDraft: Query = { term: { hasDraft: true } };
  switch (forms) {
    case 'published':
      return [isPublished, mayRead, ...(latestOnly ? [{ term: { isLatest: true } }] : [])];
    case 'own':
      return [
        anyOf([isDraft, { bool: { must_not: [hasDraft] } }]),
        mayReadDraft,
        ...(latestOnly ? [{ term: { isLatestDraft: true } }] : []),
      ];
    case 'either': {
      const hidden: Query = { bool: { filter: [hasDraft, mayReadDraft] } };
      return [
        anyOf([
          { bool: { filter: [isDraft, mayReadDraft] } },
          { bool: { filter: [isPublished, mayRead], must_not: [hidden] } },
        ]),
        ...(latestOnly ? [{ term: { isLatestDraft: true } }] : []),
      ];
    }
  }
}

function readableQuery(readable: Readable, now: Date): Query {
  if (readable === 'all') return EVERYTHING;
  const { isPublic, ownerId, parentIds } = readable;
  const ids = [...parentIds];
  const conditions: Query[] = [
    ...(isPublic
      ? [
          { term: { recordAccess: 'public' } },
          { range: { embargoUntil: { lte: microsOf(now.toISOString()) } } },
        ]
      : []),
    ...(ownerId === null ? [] : [{ term: { ownerId } }]),
    ...(ids.length === 0 ? [] : [{ terms: { parentId: ids } }, { terms: { managedBy: ids } }]),
  ];
  return conditions.length > 0 ? anyOf(conditions) : NOTHING;
}

function anyOf(should: Query[]): Query {
  return { bool: { should, minimum_should_match: 1 } };
}

const BUCKETS = 10;
/** The number of values that each shard counts, so that the most frequent of all are exact. */
const SHARD_BUCKETS = 1_000;
/** More inner values than any vocabulary has; each outer value shows ten of them. */
const MAX_INNER = 10_000;

type FieldSort = Exclude<Sort, 'bestmatch'>;
type PositionField = 'createdAt' | 'updatedAt' | 'versionIndex';

const ORDER: Readonly<Record<FieldSort, readonly (readonly [PositionField, estypes.SortOrder])[]>> = {
  newest: [['createdAt', 'desc']],
  oldest: [['createdAt', 'asc']],
  version: [
    ['versionIndex', 'desc'],
    ['createdAt', 'desc'],
  ],
  'updated-desc': [['updatedAt', 'desc']],
  'updated-asc': [['updatedAt', 'asc']],
};

/** One request, so one state of the index, for the hits, the total, the facets and the missing ids. */
export function searchRequest(search: EngineSearch): estypes.SearchRequest {
  const { query, sort, after, selected } = search;
  const order = ORDER[sort === 'bestmatch' ? 'newest' : sort];
  return {
    query: {
      bool: {
        filter: [...scopeFilters(search.scope, search.viewer, search.now), ...boxFilters(search.boxes)],
        ...(query === null ? {} : { must: [compileQuery(query)] }),
      },
    },
    post_filter: { bool: { filter: selectionFilters(selected) } },
    sort: [
      ...(sort === 'bestmatch' && query !== null ? [{ _score: { order: 'desc' as const } }] : []),
      ...order.map(([field, direction]) => ({ [field]: direction })),
      { id: 'asc' as const },
      { form: 'asc' as const },
    ],
    ...(after === null ? { from: search.offset } : { search_after: positionValues(after, order) }),
    size: search.limit,
    track_total_hits: true,
    _source: ['kind', 'id', 'form', 'createdAt', 'updatedAt', 'versionIndex'],
    aggs: { ...facetCounts(search.facets), ...presence(search.scope) },
  };
}

function positionValues(position: SortPosition, order: (typeof ORDER)[FieldSort]): estypes.SortResults {
  const values = order.map(([field]) =>
    field === 'versionIndex' ? position[field] : microsOf(position[field]),
  );
  return [...values, position.id, position.form];
}

function boxFilters(boxes: EngineSearch['boxes']): Query[] {
  if (boxes === null) return [];
  const overlaps = boxes.map(({ west, south, east, north }) => ({
    bool: {
      filter: [
        { range: { 'boxes.west': { lte: east } } },
        { range: { 'boxes.east': { gte: west } } },
        { range: { 'boxes.south': { lte: north } } },
        { range: { 'boxes.north': { gte: south } } },
      ],
    },
  }));
  return [
    {
      nested: {
        path: 'boxes',
        score_mode: 'none',
        query: { bool: { should: overlaps, minimum_should_match: 1 } },
      },
    },
  ];
}

function selectionFilters(selected: EngineSearch['selected']): Query[] {
  return Object.entries(selected).map(([facet, values]) => {
    const byField = Map.groupBy(narrowingValues(facet, values), (value) => facetField(facet, value));
    const conditions = [...byField].map(([field, some]) => ({ terms: { [field]: some.map(storableText) } }));
    return conditions.length > 0 ? anyOf(conditions) : NOTHING;
  });
}

const facetField = (facet: string, value: string): string => `facets.${facetName(facet, value)}`;

type Aggregations = Record<string, estypes.AggregationsAggregationContainer>;

function facetCounts(facets: readonly string[]): Aggregations {
  const count = (facet: string, size: number) => ({
    terms: {
      field: `facets.${facet}`,
      size,
      shard_size: Math.max(size, SHARD_BUCKETS),
      order: [{ _count: 'desc' as const }, { _key: 'asc' as const }],
    },
  });
  return Object.fromEntries(
    facets.flatMap((facet) => [
      [facet, count(facet, BUCKETS)],
      ...(facet === NESTED_FACET ? [[innerFacet(facet), count(innerFacet(facet), MAX_INNER)]] : []),
    ]),
  );
}

/** Which of the scope's ids exist, regardless of the query: any form, the published one. */
function presence({ onlyIds }: Scope): Aggregations {
  if (onlyIds === null || onlyIds.length === 0) return {};
  const ids = { ids: { terms: { field: 'id', size: onlyIds.length } } };
  const live: Query[] = [{ term: { isDeleted: false } }, { terms: { id: [...onlyIds] } }];
  return {
    [PRESENT]: {
      global: {},
      aggs: {
        any: { filter: { bool: { filter: live } }, aggs: ids },
        published: { filter: { bool: { filter: [...live, { term: { form: 'published' } }] } }, aggs: ids },
      },
    },
  };
}

/** No facet has this name. */
const PRESENT = 'present ids';

/** The requested fields of a hit. */
type HitSource = Pick<StoredContent, 'kind' | 'id' | 'form' | PositionField>;

interface Buckets {
  buckets: { key: string; doc_count: number }[];
}

interface AnswerAggregations {
  [PRESENT]?: Record<'any' | 'published', { ids: Buckets }>;
  [facet: string]: unknown;
}

export type SearchResponse = estypes.SearchResponse<HitSource, AnswerAggregations>;

export function readAnswer(
  { scope, facets }: EngineSearch,
  { hits, aggregations = {} }: SearchResponse,
): EngineAnswer {
  return {
    hits: hits.hits.flatMap(({ _source }) => (_source === undefined ? [] : [readHit(_source)])),
    total: typeof hits.total === 'number' ? hits.total : (hits.total?.value ?? 0),
    facets: readFacets(facets, aggregations),
    missing: readMissing(scope, aggregations[PRESENT]),
  };
}

function readHit({ kind, id, form, createdAt, updatedAt, versionIndex }: HitSource): EngineHit {
  return { kind, id, form, createdAt: instantOf(createdAt), updatedAt: instantOf(updatedAt), versionIndex };
}

function readFacets(facets: readonly string[], aggregations: AnswerAggregations): EngineAnswer['facets'] {
  const counted: Record<string, FacetCount[]> = {};
  const add = (name: string, value: string, count: number) => {
    counted[name] ??= [];
    if (counted[name].length < BUCKETS) counted[name].push({ value, count });
  };
  const bucketsOf = (name: string) => (aggregations[name] as Buckets | undefined)?.buckets ?? [];
  for (const facet of facets) {
    for (const { key, doc_count } of bucketsOf(facet)) add(facet, key, doc_count);
    for (const { key, doc_count } of bucketsOf(innerFacet(facet))) {
      const separator = key.indexOf('::');
      add(`${facet}::${key.slice(0, separator)}`, key.slice(separator + 2), doc_count);
    }
  }
  return counted;
}

function readMissing(
  { onlyIds, publishedIds, forms }: Scope,
  present: AnswerAggregations[typeof PRESENT],
): string[] {
  const idsOf = (which: 'any' | 'published') => new Set(present?.[which].ids.buckets.map(({ key }) => key));
  const [any, published] = [idsOf('any'), idsOf('published')];
  const needsPublished = new Set(publishedIds);
  const expected = forms === 'published' ? publishedIds : (onlyIds ?? []);
  return expected.filter((id) => !(needsPublished.has(id) ? published : any).has(id));
}
