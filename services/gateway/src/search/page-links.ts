import type { Links } from '../rendering/links.ts';
import { type Page, WINDOW } from './read-page.ts';

/** Everything beside page, cursor and size that shaped a listing; names may repeat. */
type Parameters = readonly (readonly [name: string, value: string])[];

interface ShownPage extends Page {
  total: number;
  parameters: Parameters;
  /** Whether the next page could not be asked for; unless given, whether it is beyond the window. */
  isNextTooFar?: boolean;
}

/** The links of a listing to itself and its neighbours, with the parameters that took effect, sorted by name. */
export function pageLinks(
  url: string,
  { page, size, total, parameters, isNextTooFar = (page + 1) * size > WINDOW }: ShownPage,
): Links {
  const at = (number: number) =>
    `${url}?${queryString([...parameters, ['page', `${number}`], ['size', `${size}`]])}`;
  const hasNext = page * size < total && !isNextTooFar;
  return {
    self: at(page),
    ...(page > 1 ? { prev: at(page - 1) } : {}),
    ...(hasNext ? { next: at(page + 1) } : {}),
  };
}

interface ShownByCursor {
  cursor: string;
  /** Empty behind the last hit. */
  nextCursor: string;
  size: number;
  parameters: Parameters;
}

/** The links of a listing that is gone through by cursor: there is no way back. */
export function cursorLinks(url: string, { cursor, nextCursor, size, parameters }: ShownByCursor): Links {
  const at = (place: string) =>
    `${url}?${queryString([...parameters, ['cursor', place], ['size', `${size}`]])}`;
  return { self: at(cursor), ...(nextCursor === '' ? {} : { next: at(nextCursor) }) };
}

function queryString(parameters: Parameters): string {
  return parameters
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .join('&');
}

// RFC 3986 reserves a few characters that encodeURIComponent leaves.
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
