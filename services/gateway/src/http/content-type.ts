import { parse } from 'content-type';
import type { Route } from './endpoint.ts';
import { HttpProblem } from './http-problem.ts';

const TAKEN: Record<Exclude<Route['takes'], 'chunk' | '-'>, { types: readonly string[]; named: string }> = {
  json: {
    types: ['application/json'],
    named: 'application/json, application/ld+json;profile="https://w3id.org/ro/crate/1.1"',
  },
  bytes: { types: ['application/octet-stream'], named: 'application/octet-stream' },
};

/**
 * Lets a Content-Type header pass that is absent or names what the route takes, with whatever parameters.
 *
 * @throws HttpProblem 415, naming what is taken
 */
export function checkContentType(contentType: string | undefined, takes: Route['takes']): void {
  if (takes === '-' || takes === 'chunk' || contentType === undefined || contentType.trim() === '') return;
  const { types, named } = TAKEN[takes];
  if (types.includes(typeOf(contentType))) return;
  throw new HttpProblem(415, `Invalid 'Content-Type' header. Expected one of: ${named}`);
}

function typeOf(contentType: string): string {
  return parse(contentType, { parameters: false }).type.toLowerCase();
}

/**
 * Lets a Content-Encoding header pass that is absent or `identity`: no body is decompressed, and no file is stored compressed.
 *
 * @throws HttpProblem 415
 */
export function checkContentEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity' || encoding.trim() === '')
    return;
  throw new HttpProblem(415, "Invalid 'Content-Encoding' header. Expected one of: identity");
}
