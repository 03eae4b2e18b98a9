import type { Links } from '../rendering/links.ts';
import { type Page, WINDOW } from './read-page.ts';

interface ShownPage extends Page {
  total: number;
  /** Everything beside page and size that shaped the listing; names may repeat. */
  parameters: readonly (readonly [name: string, value: string])[];
}

/** The links of a listing to itself and its neighbours, with the parameters that took effect, sorted by name. */
export function pageLinks(url: string, { page, size, total, parameters }: ShownPage): Links {
  const at = (number: number) =>
    `${url}?${queryString([...parameters, ['page', `${number}`], ['size', `${size}`]])}`;
  const hasNext = page * size < total && (page + 1) * size <= WINDOW;
  return {
    self: at(page),
    ...(page > 1 ? { prev: at(page - 1) } : {}),
    ...(hasNext ? { next: at(page + 1) } : {}),
  };
}

function queryString(parameters: readonly (readonly [string, string])[]): string {
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
