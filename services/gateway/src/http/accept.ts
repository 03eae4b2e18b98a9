import { EXPORT_MEDIA_TYPES } from '@kr/formats';
import Negotiator from 'negotiator';
import { acceptsProblem } from './error-response.ts';
import { HttpProblem } from './http-problem.ts';
import type { Route } from './route.ts';

const DEFAULT_TYPE = 'application/json';

/** JSON with the texts of a page (`ui`). */
export const VENDOR_TYPE = 'application/vnd.inveniordm.v1+json';

/** Hits of a search as a table, and as features on a map. */
export const CSV_TYPE = 'text/csv';
export const GEOJSON_TYPE = 'application/geo+json';

/** The types that bodies are written in. */
export const WRITTEN = [DEFAULT_TYPE, VENDOR_TYPE];
const OFFERED: Record<Exclude<NonNullable<Route['produces']>, 'any'>, string[]> = {
  entity: WRITTEN,
  published: [...WRITTEN, ...EXPORT_MEDIA_TYPES],
  hits: [...WRITTEN, CSV_TYPE, GEOJSON_TYPE],
  json: WRITTEN,
};

// Parameters other than the weight do not choose between our types.
const PARAMETER = /;\s*(?!q\s*=)[\w!#$%&'*+.^`|~-]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^;,\s"]*)/gi;

/**
 * The media type to answer in, by an Accept header (RFC 9110, section 12.5.1).
 *
 * @throws HttpProblem 406, naming what would be acceptable
 */
export function chooseMediaType(accept: string | undefined, produces: Route['produces'] = 'json'): string {
  if (produces === 'any' || accept === undefined || accept.trim() === '') return DEFAULT_TYPE;
  const negotiator = new Negotiator({ headers: { accept: accept.replace(PARAMETER, '') } });
  const chosen = negotiator.mediaType(OFFERED[produces]);
  if (chosen !== undefined) return chosen;
  // Only the format of errors is named.
  if (acceptsProblem(accept) && !accept.includes(',')) return DEFAULT_TYPE;
  throw new HttpProblem(406, `Invalid 'Accept' header. Expected one of: ${OFFERED[produces].join(', ')}`);
}
