import type { estypes } from '@elastic/elasticsearch';

/**
 * Incremented with every change of the mappings or of the documents: an index of another layout is built
 * again.
 */
export const LAYOUT = 2;

/** Farther apart than any phrase may reach, from one value into the next. */
const GAP = 1_000;
/** Scores show only that a word occurs. Its frequency would reveal documents that the viewer may not see. */
const SCORES = { norms: false, similarity: 'boolean' } as const;
const words = {
  type: 'text',
  analyzer: 'whitespace',
  position_increment_gap: GAP,
  ...SCORES,
} satisfies estypes.MappingProperty;
const keyword: estypes.MappingProperty = { type: 'keyword', norms: false };
/** Never sorted or counted by. */
const looked = { type: 'keyword', norms: false, doc_values: false } satisfies estypes.MappingProperty;
const flag: estypes.MappingProperty = { type: 'boolean', doc_values: false };
/** Microseconds since 1970, for `date_nanos` ends in 2262. */
const instant: estypes.MappingProperty = { type: 'long' };
const degrees: estypes.MappingProperty = { type: 'double', doc_values: false };

export const MAPPINGS: estypes.MappingTypeMapping = {
  dynamic: 'strict',
  dynamic_templates: [{ facets: { path_match: 'facets.*', mapping: { type: 'keyword', norms: false } } }],
  properties: {
    id: keyword,
    form: keyword,
    kind: looked,
    parentId: looked,
    managedBy: looked,
    ownerId: looked,
    recordAccess: looked,
    embargoUntil: instant,
    versionIndex: { type: 'long' },
    createdAt: instant,
    updatedAt: instant,
    revision: { type: 'keyword', index: false, doc_values: false },
    publicationFrom: { type: 'integer', doc_values: false },
    publicationTo: { type: 'integer', doc_values: false },
    isLive: flag,
    isAnnounced: flag,
    isLatest: flag,
    isLatestDraft: flag,
    hasDraft: flag,
    buriedAt: { type: 'date' },
    // The words of all fields together, by how much they weigh.
    words: { properties: { a: words, b: words, c: words, d: words } },
    fieldWords: words,
    exact: { ...looked, ...SCORES },
    facets: { type: 'object', dynamic: true },
    boxes: { type: 'nested', properties: { west: degrees, south: degrees, east: degrees, north: degrees } },
    suggestions: {
      type: 'nested',
      properties: { type: looked, words, value: keyword },
    },
  },
};

export interface IndexSize {
  /** Writes appear when a shard is refreshed, and the shards do that one after the other. */
  shards: number;
  replicas: number;
}

/**
 * The template of every index of a prefix. Only the writer refreshes, at the end of a batch, and
 * a write to a missing name creates no index.
 */
export function indexTemplate(
  prefix: string,
  { shards, replicas }: IndexSize,
): estypes.IndicesPutIndexTemplateRequest {
  return {
    name: prefix,
    index_patterns: [`${prefix}-*`],
    // Prefixes of other installations may begin with this one; theirs are longer then.
    priority: 1_000 + prefix.length,
    allow_auto_create: false,
    template: {
      settings: {
        number_of_shards: shards,
        number_of_replicas: replicas,
        refresh_interval: '-1',
        max_result_window: 1_000_000,
      },
      mappings: { ...MAPPINGS, _meta: { layout: LAYOUT } },
    },
  };
}
