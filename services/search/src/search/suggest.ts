import type { SuggestRequest__Output, SuggestResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ENTITY_KINDS, SUGGESTION_TYPES, type SuggestionType } from '../documents/entity.ts';
import { textTokens } from '../documents/text-tokens.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { QUERY_LIMITS } from '../query/query-tree.ts';
import type { OpenEngineTime } from './engine-time.ts';
import { invalidField, viewerOf } from './parse-search.ts';

export interface SuggestDeps {
  index: Pick<SearchIndex, 'suggest'>;
  openTime: OpenEngineTime;
  now: () => Date;
}

const DEFAULT_SIZE = 10;
const MAX_SIZE = 50;
/** Further words are ignored. */
const MAX_WORDS = 10;

/**
 * SearchService.Suggest.
 *
 * @throws ServiceError `invalid` for an unknown type, a size or a text that is too large; `unavailable`
 *   (`search_timeout`) when it takes too long
 */
export function suggest({ index, openTime, now }: SuggestDeps) {
  return async (
    { q, type, size, caller }: SuggestRequest__Output,
    { principal }: Pick<CallContext, 'principal'>,
  ): Promise<SuggestResponse> => {
    const { maxLength } = QUERY_LIMITS;
    const limit = size === 0 ? DEFAULT_SIZE : size;
    if (limit < 1) throw invalidField('size', 'Must be greater than or equal to 1.');
    if (limit > MAX_SIZE) throw invalidField('size', `Must be less than or equal to ${MAX_SIZE}.`);
    if (q.length > maxLength) throw invalidField('q', `Longer than ${maxLength} characters.`);
    const suggestionType = parseType(type);
    const prefixes = [...new Set(textTokens(q))].slice(0, MAX_WORDS);
    if (prefixes.length === 0) return { suggestions: [] };
    const completion = {
      viewer: viewerOf(principal),
      kinds: ENTITY_KINDS,
      type: suggestionType,
      prefixes,
      limit,
      now: now(),
    };
    const time = openTime(caller);
    const suggestions = await time.run(false, (deadline) => index.suggest(completion, deadline));
    return {
      suggestions: suggestions.map((one) => ({ ...one, sources: [...one.sources] })),
      engineMs: time.engineMs,
    };
  };
}

function parseType(type: string): SuggestionType {
  const found = SUGGESTION_TYPES.find((name) => name === type);
  if (found === undefined) throw invalidField('type', `Must be one of: ${SUGGESTION_TYPES.join(', ')}.`);
  return found;
}
