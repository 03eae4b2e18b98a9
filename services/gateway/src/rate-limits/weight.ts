import type { Route, Weight } from '../http/endpoint.ts';

/** Entities and the content of files: what clients look at without reading it, and what costs little. */
const CHEAP_TO_HEAD = /^\/api\/(?:records|packages)\/:id(?:\/draft|\/versions\/latest|.*\/content)?$/;

/** What a request weighs, by the route that answers it, if it does for such a caller. */
export function weightOf(
  { path, auth, weight }: Pick<Route, 'path' | 'auth' | 'weight'>,
  { method, isKnown }: { method: string; isKnown: boolean },
): Weight {
  if (auth === 'token' && !isKnown) return 'one';
  if (weight !== undefined) return weight;
  return method === 'HEAD' && CHEAP_TO_HEAD.test(path) ? 'nothing' : 'one';
}
