import type { Principal } from '@kr/caller';
import type { SearchRequest__Output } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import type { EngineSearch, EntityKind, Sort, Viewer } from '../engine/search-engine.ts';
import { parseBoundingBox } from '../query/bounding-box.ts';
import { parseQuery } from '../query/parse-query.ts';
import { findListing, type ListingSettings } from './listings.ts';

export interface SearchPaging {
  /** The largest page that may be asked for. */
  maxPageSize: number;
  /** How many hits can be paged through. */
  window: number;
}

const DEFAULT_SIZE = 10;
const KINDS: readonly EntityKind[] = ['record', 'package'];

/**
 * Reads what a request asks of the engine.
 *
 * @throws ServiceError `invalid` for a page, query, sort or box that cannot be; `unauthenticated` for a personal
 *   listing without any credential
 */
export function readSearch(
  request: SearchRequest__Output,
  principal: Principal,
  paging: SearchPaging,
  now: Date,
): { listing: ListingSettings; search: EngineSearch } {
  const listing = findListing(request.listing);
  if (listing === undefined) throw new ServiceError('invalid', 'Unknown listing.');
  if (listing.needsCredential && principal.userId === null && principal.grants.length === 0) {
    throw new ServiceError('unauthenticated', 'Authentication required.');
  }
  const { size, page } = readPaging(request, paging);
  const boxes = parseBoundingBox(request.bbox);
  const query = parseQuery(request.q);
  const search: EngineSearch = {
    viewer: viewerOf(principal),
    scope: {
      forms: listing.forms,
      kinds: readKinds(request, listing),
      latestOnly: listing.latestByDefault && !request.allVersions,
      onlyIds: listing.takesIds ? request.onlyIds : null,
      publishedIds: request.publishedIds,
    },
    query,
    boxes,
    sort: readSort(request.sort, listing, query !== null),
    offset: (page - 1) * size,
    limit: size,
    after: null,
    facets: listing.facets,
    selected: readSelection(request, listing),
    now,
  };
  return { listing, search };
}

/** Zero is what an unset number reads as, so it takes the default. */
function readPaging(
  { size, page }: SearchRequest__Output,
  { maxPageSize, window }: SearchPaging,
): { size: number; page: number } {
  const asked = { size: size === 0 ? DEFAULT_SIZE : size, page: page === 0 ? 1 : page };
  for (const field of ['size', 'page'] as const) {
    if (asked[field] < 1) throw refused(field, 'Must be greater than or equal to 1.');
  }
  if (asked.size > maxPageSize) throw refused('size', `Page size cannot be greater than ${maxPageSize}.`);
  if (asked.page * asked.size > window) throw new ServiceError('invalid', 'Invalid querystring parameters.');
  return asked;
}

function readKinds({ kinds }: SearchRequest__Output, { takesIds }: ListingSettings): EntityKind[] {
  if (takesIds) return ['record'];
  return kinds.length === 0 ? [...KINDS] : KINDS.filter((kind) => kinds.includes(kind));
}

function readSort(sort: string, { sorts, defaultSort }: ListingSettings, hasQuery: boolean): Sort {
  if (sort === '') return hasQuery ? 'bestmatch' : defaultSort;
  const known = sorts.find((option) => option === sort);
  if (known === undefined) throw refused('_schema', `Invalid sort option '${sort}'.`);
  return known === 'bestmatch' && !hasQuery ? defaultSort : known;
}

/** Parameters that are no facet of the listing have no effect. */
function readSelection(
  { filters }: SearchRequest__Output,
  { facets }: ListingSettings,
): Record<string, string[]> {
  const selected: Record<string, string[]> = {};
  for (const { name, values } of filters) {
    const known = facets.find((facet) => facet === name);
    const chosen = values.filter((value) => value !== '');
    if (known === undefined || chosen.length === 0) continue;
    selected[known] = [...new Set([...(selected[known] ?? []), ...chosen])];
  }
  return selected;
}

function viewerOf({ userId, isAdmin, service, grants }: Principal): Viewer {
  const parentsOf = (permissions: readonly string[]) => [
    ...new Set(
      grants.filter(({ permission }) => permissions.includes(permission)).map(({ parentId }) => parentId),
    ),
  ];
  return {
    seesAll: isAdmin || service !== null,
    userId,
    viewParentIds: parentsOf(['view', 'preview', 'edit']),
    previewParentIds: parentsOf(['preview', 'edit']),
  };
}

function refused(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [message] }],
  });
}
