import type { estypes } from '@elastic/elasticsearch';
import { storableText } from '../../index/storable-text.ts';
import type { EngineSuggest, Suggestion } from '../search-engine.ts';
import type { Query } from './compile-query.ts';
import { scopeFilters } from './scope-filter.ts';

/** So many does each shard count, so that the most frequent of all are told right. */
const SHARD_VALUES = 1_000;

/** Counts the suggested values of the documents that may be shown, most frequent first. */
export function suggestRequest({
  viewer,
  kinds,
  type,
  prefixes,
  limit,
  now,
}: EngineSuggest): estypes.SearchRequest {
  const scope = { forms: 'published', kinds, latestOnly: true, onlyIds: null, publishedIds: [] } as const;
  const fitting: Query = {
    bool: {
      filter: [
        { term: { 'suggestions.type': type } },
        ...prefixes.map((prefix) => ({ prefix: { 'suggestions.words': { value: storableText(prefix) } } })),
      ],
    },
  };
  return {
    query: {
      bool: {
        filter: [
          ...scopeFilters(scope, viewer, now),
          { nested: { path: 'suggestions', score_mode: 'none', query: fitting } },
        ],
      },
    },
    size: 0,
    track_total_hits: false,
    aggs: {
      suggestions: {
        nested: { path: 'suggestions' },
        aggs: {
          fitting: {
            filter: fitting,
            aggs: {
              values: {
                terms: {
                  field: 'suggestions.value',
                  size: limit,
                  shard_size: Math.max(limit, SHARD_VALUES),
                  order: [{ _count: 'desc' }, { _key: 'asc' }],
                },
              },
            },
          },
        },
      },
    },
  };
}

interface SuggestAggregations {
  suggestions?: { fitting: { values: { buckets: { key: string; doc_count: number }[] } } };
}

export type SuggestResponse = estypes.SearchResponse<unknown, SuggestAggregations>;

export function readSuggestions({ aggregations }: SuggestResponse): Suggestion[] {
  const buckets = aggregations?.suggestions?.fitting.values.buckets ?? [];
  return buckets.map(({ key, doc_count }) => ({ value: key, count: doc_count }));
}
