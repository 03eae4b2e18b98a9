import { type Issue, ServiceError } from '@kr/service-error';

export interface PageLimits {
  /** The largest page that may be asked for. */
  pageMaxSize: number;
}

export interface Page {
  size: number;
  /** From 1. */
  page: number;
}

const DEFAULT_SIZE = 10;
const WRONG_QUERY = 'Invalid querystring parameters.';

/** No listing is paged further than this many hits in. */
export const WINDOW = 10_000;

/**
 * The page that a listing's query asks for.
 *
 * @param further how to reach what lies beyond the window, as a sentence goes on after a semicolon; empty when nothing does
 * @throws ServiceError `invalid`: not whole numbers from 1, a page too large, or one beyond the window
 */
export function readPage(query: URLSearchParams, { pageMaxSize }: PageLimits, further = ''): Page {
  const issues: Issue[] = [];
  const size = readNumber(query, 'size', DEFAULT_SIZE, issues);
  const page = readNumber(query, 'page', 1, issues);
  if (size > pageMaxSize) {
    issues.push({ field: 'size', messages: [`Page size cannot be greater than ${pageMaxSize}.`] });
  }
  if (issues.length > 0) throw new ServiceError('invalid', 'A validation error occurred.', { issues });
  if (page * size > WINDOW) throw tooFar(further);
  return { size, page };
}

function tooFar(further: string): ServiceError {
  const reach = `Only the first ${WINDOW} hits can be reached by pages`;
  return new ServiceError('invalid', WRONG_QUERY, {
    issues: [{ field: 'page', messages: [further === '' ? `${reach}.` : `${reach}; ${further}.`] }],
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
  return value;
}
