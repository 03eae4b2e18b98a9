import type { FacetFilter } from '@kr/contracts';
import { CSV_TYPE, GEOJSON_TYPE } from '../http/accept.ts';
import { isTrue } from '../http/endpoint.ts';
import { invalid } from '../http/invalid.ts';
import { invalidQuery, type Page, type PageLimits, readSearchPage } from '../rendering/page-links.ts';

/** The parameters of listings of resources, as `openapi.yaml` names them. */
export function resourcesQuery(sort: 'sortResources' | 'sortOwn', facets: readonly string[]): string[] {
  const all = ['access_status', ...facets, 'resource_type', 'base_type'];
  return ['q', 'bbox', ...all, sort, 'size', 'page', 'cursor', 'allversions'];
}

/** Of listings that may show drafts. */
export const DRAFT_RESOURCES_QUERY = resourcesQuery('sortOwn', ['is_published']);

/** The parsed query string of a listing. */
export interface SearchQuery extends Page {
  /** Empty: everything. */
  q: string;
  bbox: string;
  /** In place of a page; empty: none. */
  cursor: string;
  /** Empty: the listing's default. */
  sort: string;
  allVersions: boolean;
  /** Parameters of other names: facets, where the search service knows them. */
  filters: FacetFilter[];
}

/** Parameters that are never facets. The search service rejects or ignores all others that a listing does not have. */
const OWN_PARAMETERS = new Set([
  'q',
  'bbox',
  'sort',
  'size',
  'page',
  'cursor',
  'allversions',
  'expand',
  'format',
  'prettyprint',
  'token',
  'access_token',
]);

const MAX_FILTERS = 50;
const FALSE = /^(?:0|f|false|n|no|off)$/i;

const FORMATS: Readonly<Record<string, string>> = { csv: CSV_TYPE, geojson: GEOJSON_TYPE };

/**
 * The media type of `?format=`, for clients that cannot set `Accept`; undefined without it.
 * @throws ServiceError `invalid`: an unknown format
 */
export function readFormat(query: URLSearchParams): string | undefined {
  const name = query.get('format') ?? '';
  if (name === '' || name === 'json') return undefined;
  const type = FORMATS[name];
  if (type === undefined) throw invalid('format', 'Must be one of: json, csv, geojson.');
  return type;
}

/** @throws ServiceError `invalid`: a value that its parameter cannot have */
export function readSearchQuery(query: URLSearchParams, limits: PageLimits): SearchQuery {
  // Suggestions have a separate route.
  if (query.has('suggest')) throw invalidQuery();
  assertText(query);
  const cursor = query.get('cursor') ?? '';
  if (cursor !== '' && query.has('page')) throw invalid('page', 'A cursor takes the place of the page.');
  const page = readSearchPage(query, limits);
  const sort = query.get('sort');
  if (sort === '') throw invalid('_schema', "Invalid sort option ''.");
  return {
    ...page,
    cursor,
    q: query.get('q') ?? '',
    bbox: query.get('bbox') ?? '',
    sort: sort ?? '',
    allVersions: readBoolean(query, 'allversions'),
    filters: facetFilters(query),
  };
}

function readBoolean(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null || FALSE.test(text)) return false;
  if (!isTrue(text)) throw invalid(name, 'Not a valid boolean.');
  return true;
}

function facetFilters(query: URLSearchParams): FacetFilter[] {
  const names = [...new Set(query.keys())].filter((name) => !OWN_PARAMETERS.has(name));
  return names
    .slice(0, MAX_FILTERS)
    .map((name) => ({ name, values: query.getAll(name).slice(0, MAX_FILTERS) }));
}

/** @throws ServiceError `invalid`: a parameter is not valid text */
export function assertText(query: URLSearchParams): void {
  if ([...query].some(([name, value]) => !isText(name) || !isText(value))) throw invalidQuery();
}

function isText(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed();
}
