import type { Principal } from '@kr/caller';
import type { SuggestRequest__Output, SuggestResponse } from '@kr/contracts';
import { SUGGESTION_TYPES, type SuggestionType } from '../documents/entity.ts';
import { textTokens } from '../documents/text-tokens.ts';
import type { SearchIndex } from '../index/search-index.ts';
import type { OpenEngineTime } from './engine-time.ts';
import { refusedField, viewerOf } from './read-search.ts';

export interface SuggestDeps {
  index: Pick<SearchIndex, 'suggest'>;
  openTime: OpenEngineTime;
  limits: { maxSuggestions: number; maxLength: number };
  now: () => Date;
}

const DEFAULT_SIZE = 10;
/** More words than this narrow nothing down. */
const MOST_WORDS = 10;

/**
 * SearchService.Suggest.
 *
 * @throws ServiceError `invalid` for an unknown type, a size or a text that is too large; `unavailable`
 *   (`search_timeout`) when it takes too long
 */
export async function suggest(
  { index, openTime, limits, now }: SuggestDeps,
  { q, type, size, caller }: SuggestRequest__Output,
  principal: Principal,
): Promise<SuggestResponse> {
  const { maxSuggestions, maxLength } = limits;
  const limit = size === 0 ? Math.min(DEFAULT_SIZE, maxSuggestions) : size;
  if (limit < 1) throw refusedField('size', 'Must be greater than or equal to 1.');
  if (limit > maxSuggestions) throw refusedField('size', `Must be less than or equal to ${maxSuggestions}.`);
  if (q.length > maxLength) throw refusedField('q', `Longer than ${maxLength} characters.`);
  const known = readType(type);
  const prefixes = [...new Set(textTokens(q))].slice(0, MOST_WORDS);
  if (prefixes.length === 0) return { suggestions: [] };
  const wanted = {
    viewer: viewerOf(principal),
    kinds: ['record', 'package'] as const,
    type: known,
    prefixes,
    limit,
    now: now(),
  };
  const time = openTime(caller);
  const suggestions = await time.run(false, (timeoutMs) => index.suggest(wanted, timeoutMs));
  return {
    suggestions: suggestions.map((one) => ({ ...one, sources: [...one.sources] })),
    engineMs: time.usedMs,
  };
}

function readType(type: string): SuggestionType {
  const known = SUGGESTION_TYPES.find((name) => name === type);
  if (known === undefined) throw refusedField('type', `Must be one of: ${SUGGESTION_TYPES.join(', ')}.`);
  return known;
}
