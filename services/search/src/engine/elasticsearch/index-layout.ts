import type { Client, estypes } from '@elastic/elasticsearch';
import { ServiceError } from '@kr/service-error';
import { GENERATION_ID } from '../search-engine.ts';

/** Increased with every change of the mappings or of the documents. */
export const LAYOUT = 1;

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
const matched = { type: 'keyword', norms: false, doc_values: false } satisfies estypes.MappingProperty;
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
    kind: matched,
    parentId: matched,
    managedBy: matched,
    ownerId: matched,
    recordAccess: matched,
    embargoUntil: instant,
    versionIndex: { type: 'long' },
    createdAt: instant,
    updatedAt: instant,
    revision: { type: 'keyword', index: false, doc_values: false },
    publicationFrom: { type: 'integer', doc_values: false },
    publicationTo: { type: 'integer', doc_values: false },
    isDeleted: flag,
    isStaged: flag,
    isLatest: flag,
    isLatestDraft: flag,
    hasDraft: flag,
    contentHash: { type: 'keyword', index: false, doc_values: false },
    deletedAt: { type: 'date' },
    // The words of all fields together, by rank weight.
    words: { properties: { a: words, b: words, c: words, d: words } },
    fieldWords: words,
    exact: { ...matched, ...SCORES },
    facets: { type: 'object', dynamic: true },
    boxes: { type: 'nested', properties: { west: degrees, south: degrees, east: degrees, north: degrees } },
    suggestions: {
      type: 'nested',
      properties: { type: matched, words, value: keyword },
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
function indexTemplate(
  prefix: string,
  { shards, replicas }: IndexSize,
): estypes.IndicesPutIndexTemplateRequest {
  return {
    name: prefix,
    index_patterns: [`${prefix}-*`],
    // Prefixes of other installations may start with this one; theirs are longer then.
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

/** The index of a generation. */
export function indexOf(prefix: string, generation: string): string {
  return `${prefix}-${generation}`;
}

/** @throws Error when an index template that is not ours determines its mappings */
export async function createIndex(
  client: Client,
  prefix: string,
  generation: string,
  size: IndexSize,
): Promise<void> {
  const index = indexOf(prefix, generation);
  await client.indices.putIndexTemplate(indexTemplate(prefix, size));
  const { shards_acknowledged } = await client.indices.create({ index, wait_for_active_shards: 1 });
  if (!shards_acknowledged) {
    throw new ServiceError('unavailable', 'The shards of a new index have not started in time.', {
      retryAfterMs: 1_000,
    });
  }
  const { mappings } = (await client.indices.getMapping({ index }))[index] ?? {};
  if (mappings?._meta?.['layout'] !== LAYOUT)
    throw new Error(`another index template of a higher priority fits ${prefix}-*`);
}

/** The generations with an index. The prefixes of other installations may start with this one, and a hyphen. */
export async function listGenerations(client: Client, prefix: string): Promise<string[]> {
  const indexes = await client.indices.getAlias({ index: `${prefix}-*` });
  return Object.keys(indexes)
    .map((index) => index.slice(prefix.length + 1))
    .filter((generation) => GENERATION_ID.test(generation));
}
