import type { Route, Weight } from '../http/endpoint.ts';

/** Rate-limit cost of a request. `HEAD` does the work of `GET` and costs as much. */
export function weightOf(
  { auth, weight }: Pick<Route, 'auth' | 'weight'>,
  { isKnown }: { isKnown: boolean },
): Weight {
  return auth === 'token' && !isKnown ? 'one' : (weight ?? 'one');
}
