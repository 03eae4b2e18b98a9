import { textTokens } from '../../documents/text-tokens.ts';
import type { EngineAnswer, EngineSearch, EngineSuggest, Viewer } from '../../engine/search-engine.ts';
import { parseBoundingBox } from '../../query/bounding-box.ts';
import { parseQuery } from '../../query/parse-query.ts';
import { queryCondition } from '../../query/query-conditions.ts';

const STRANGER: Viewer = { seesAll: false, userId: null, viewParentIds: [], previewParentIds: [] };

export interface SearchTraits extends Partial<Omit<EngineSearch, 'query' | 'boxes' | 'viewer' | 'scope'>> {
  q?: string;
  bbox?: string;
  viewer?: Partial<Viewer>;
  scope?: Partial<EngineSearch['scope']>;
}

/** A stranger's search of everything published, oldest first, but for the traits given. */
export function aSearch({ q = '', bbox = '', viewer, scope, ...rest }: SearchTraits = {}): EngineSearch {
  const query = parseQuery(q);
  return {
    query: query && queryCondition(query),
    boxes: parseBoundingBox(bbox),
    viewer: { ...STRANGER, ...viewer },
    scope: {
      forms: 'published',
      kinds: ['record', 'package'],
      latestOnly: false,
      onlyIds: null,
      publishedIds: [],
      ...scope,
    },
    sort: 'oldest',
    offset: 0,
    limit: 100,
    after: null,
    facets: [],
    selected: {},
    now: new Date('2026-01-01T00:00:00Z'),
    ...rest,
  };
}

export interface SuggestTraits extends Partial<Omit<EngineSuggest, 'viewer' | 'prefixes'>> {
  q: string;
  viewer?: Partial<Viewer>;
}

/** The title completions for an anonymous viewer, with the given overrides. */
export function aSuggest({ q, viewer, ...rest }: SuggestTraits): EngineSuggest {
  return {
    viewer: { ...STRANGER, ...viewer },
    kinds: ['record', 'package'],
    type: 'title',
    prefixes: textTokens(q),
    limit: 10,
    now: new Date('2026-01-01T00:00:00Z'),
    ...rest,
  };
}

/** The ids of the hits, with a `*` for drafts. */
export function idsOf(answer: EngineAnswer): string[] {
  return answer.hits.map(({ id, form }) => (form === 'draft' ? `${id}*` : id));
}
