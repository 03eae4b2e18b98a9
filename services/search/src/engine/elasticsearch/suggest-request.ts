import type { estypes } from '@elastic/elasticsearch';
import { storableText } from '../../documents/text-tokens.ts';
import type { EngineSuggest, Suggestion, SuggestionSource } from '../search-engine.ts';
import { suggestScope } from '../search-rules.ts';
import type { Query } from './compile-query.ts';
import { scopeFilters } from './search-request.ts';

/** The number of values that each shard counts, so that the most frequent of all are exact. */
const SHARD_VALUES = 1_000;

/** Documents of each value that are returned with it. */
const SOURCES = 2;

/** Counts the suggested values of the documents that may be shown, most frequent first. */
export function suggestRequest({
  viewer,
  kinds,
  type,
  prefixes,
  limit,
  now,
}: EngineSuggest): estypes.SearchRequest {
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
          ...scopeFilters(suggestScope(kinds), viewer, now),
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
                  // Documents are listed for the values on the page only.
                  collect_mode: 'breadth_first',
                },
                aggs: {
                  documents: {
                    reverse_nested: {},
                    aggs: { ids: { terms: { field: 'id', size: SOURCES } } },
                  },
                },
              },
            },
          },
        },
      },
    },
  };
}

interface ValueBucket {
  key: string;
  doc_count: number;
  documents: { ids: { buckets: { key: string }[] } };
}

interface SuggestAggregations {
  suggestions?: { fitting: { values: { buckets: ValueBucket[] } } };
}

export type SuggestResponse = estypes.SearchResponse<unknown, SuggestAggregations>;
export type SourcesResponse = estypes.SearchResponse<SuggestionSource>;

const bucketsOf = ({ aggregations }: SuggestResponse): ValueBucket[] =>
  aggregations?.suggestions?.fitting.values.buckets ?? [];

const idsOf = ({ documents }: ValueBucket): string[] => documents.ids.buckets.map(({ key }) => key);

/** The kind and revision of the documents of suggestions: no aggregation returns them. */
export function sourcesRequest(response: SuggestResponse): estypes.SearchRequest | undefined {
  const ids = [...new Set(bucketsOf(response).flatMap(idsOf))];
  if (ids.length === 0) return undefined;
  return {
    query: { bool: { filter: [{ term: { form: 'published' } }, { terms: { id: ids } }] } },
    size: ids.length,
    track_total_hits: false,
    _source: ['id', 'kind', 'revision'],
  };
}

export function readSuggestions(response: SuggestResponse, { hits }: SourcesResponse): Suggestion[] {
  const sources = new Map(
    hits.hits.flatMap(({ _source }) => (_source === undefined ? [] : [[_source.id, _source] as const])),
  );
  return bucketsOf(response).map((bucket) => ({
    value: bucket.key,
    count: bucket.doc_count,
    sources: idsOf(bucket).flatMap((id) => sources.get(id) ?? []),
  }));
}
