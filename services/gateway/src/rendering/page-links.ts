import { type Issue, ServiceError } from '@kr/service-error';
import { assertValid } from '../http/invalid.ts';
import type { Links } from './links.ts';

export interface PageLimits {
  /** The largest page size. */
  pageMaxSize: number;
}

export interface Page {
  size: number;
  /** From 1. */
  page: number;
}

const DEFAULT_SIZE = 10;
const WRONG_QUERY = 'Invalid querystring parameters.';

/** The search service limits the depth of searches; other listings are paged up to this many hits. */
const WINDOW = 10_000;

/** The largest number that services accept; it is beyond every window. */
const MAX_INTEGER = 2 ** 31 - 1;

/**
 * The page in a listing's query.
 * @throws ServiceError `invalid`: as `readSearchPage`, or a page beyond the window
 */
export function readPage(query: URLSearchParams, limits: PageLimits): Page {
  const page = readSearchPage(query, limits);
  if (page.page * page.size > WINDOW) throw tooFar();
  return page;
}

/**
 * The page in a search's query, at any depth.
 * @throws ServiceError `invalid`: not whole numbers from 1, or a page too large
 */
export function readSearchPage(query: URLSearchParams, { pageMaxSize }: PageLimits): Page {
  const issues: Issue[] = [];
  const size = readNumber(query, 'size', DEFAULT_SIZE, issues);
  const page = readNumber(query, 'page', 1, issues);
  if (size > pageMaxSize) {
    issues.push({ field: 'size', messages: [`Page size cannot be greater than ${pageMaxSize}.`] });
  }
  assertValid(issues);
  return { size, page };
}

function tooFar(): ServiceError {
  return new ServiceError('invalid', WRONG_QUERY, {
    issues: [{ field: 'page', messages: [`Only the first ${WINDOW} hits can be reached by pages.`] }],
    code: 'page_too_far',
  });
}

export function invalidQuery(): ServiceError {
  return new ServiceError('invalid', WRONG_QUERY);
}

function readNumber(query: URLSearchParams, field: string, fallback: number, issues: Issue[]): number {
  const text = query.get(field);
  if (text === null) return fallback;
  if (!/^\s*[+-]?\d+\s*$/.test(text)) {
    issues.push({ field, messages: ['Not a valid integer.'] });
    return fallback;
  }
  const value = Number(text);
  if (value < 1) issues.push({ field, messages: ['Must be greater than or equal to 1.'] });
  return Math.min(value, MAX_INTEGER);
}

/** Everything beside page, cursor and size that shaped a listing; names may repeat. */
type Parameters = readonly (readonly [name: string, value: string])[];

interface LinkedPage extends Page {
  total: number;
  parameters: Parameters;
  /** Whether there is no link to the next page; by default, whether it is beyond the window. */
  isNextTooFar?: boolean;
}

/** The links of a listing to itself and its neighbours, with the parameters that took effect, sorted by name. */
export function pageLinks(
  url: string,
  { page, size, total, parameters, isNextTooFar = (page + 1) * size > WINDOW }: LinkedPage,
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

interface CursorPage {
  cursor: string;
  /** Empty behind the last hit. */
  nextCursor: string;
  size: number;
  parameters: Parameters;
}

/** The links of a listing that is gone through by cursor: there is no way back. */
export function cursorLinks(url: string, { cursor, nextCursor, size, parameters }: CursorPage): Links {
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
