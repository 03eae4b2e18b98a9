import type { Principal } from '@kr/caller';
import type { SearchRequest__Output } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import { ENTITY_KINDS, type EntityKind } from '../documents/entity.ts';
import type { EngineSearch, Sort, Viewer } from '../engine/search-engine.ts';
import { parseBoundingBox } from '../query/bounding-box.ts';
import { parseQuery } from '../query/parse-query.ts';
import { queryCondition } from '../query/query-conditions.ts';
import { type CursorSort, invalidCursor, parseCursor } from './cursor.ts';
import { findListing, type ListingSettings } from './listings.ts';

export function invalidField(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [message] }],
  });
}

/** The part of the index that a caller may see. */
export function viewerOf({ userId, isAdmin, service, grants }: Principal): Viewer {
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

/** A parsed request. */
export interface ParsedSearch {
  listing: ListingSettings;
  search: EngineSearch;
  /** The sort of a search that is paged by cursors; null for numbered pages. */
  cursorSort: CursorSort | null;
  /** Whether there is no link to the next page. */
  isNextTooFar: boolean;
}

const DEFAULT_SIZE = 10;
const MAX_PAGE_SIZE = 1_000;
/** Hits that numbered pages can reach. */
const MAX_PAGED_HITS = 10_000;

/**
 * Parses a request for the engine.
 * @throws ServiceError `invalid` for an invalid page, cursor, query, sort or box; `unauthenticated` for a personal
 * listing without credentials
 */
export function parseSearch(request: SearchRequest__Output, principal: Principal, now: Date): ParsedSearch {
  const listing = findListing(request.listing);
  if (listing === undefined) throw new ServiceError('invalid', 'Unknown listing.');
  if (listing.needsCredential && principal.userId === null && principal.grants.length === 0) {
    throw new ServiceError('unauthenticated', 'Authentication required.');
  }
  const { size, page } = parsePaging(request);
  const boxes = parseBoundingBox(request.bbox);
  const query = parseQuery(request.q);
  const cursorSort = request.cursor === '' ? null : parseCursorSort(request.sort, listing);
  const after = cursorSort === null ? null : parseCursor(request.cursor, cursorSort);
  const search: EngineSearch = {
    viewer: viewerOf(principal),
    scope: {
      forms: listing.forms,
      kinds: parseKinds(request, listing),
      latestOnly: listing.latestByDefault && !request.allVersions,
      onlyIds: listing.takesIds ? request.onlyIds : null,
      publishedIds: request.publishedIds,
    },
    query: query && queryCondition(query),
    boxes,
    sort: cursorSort ?? parseSort(request.sort, listing, query !== null),
    offset: (page - 1) * size,
    limit: size,
    after,
    // The first page has the total; counting costs as much as all pages together.
    facets: after === null ? listing.facets : [],
    selected: parseSelection(request, listing),
    now,
  };
  const isNextTooFar = cursorSort === null && (page + 1) * size > MAX_PAGED_HITS;
  return { listing, search, cursorSort, isNextTooFar };
}

/**
 * An unset number is zero. This service decides how deep pages and cursors reach. The gateway rejects every `page` beside a
 * cursor, because its requests always contain a page number.
 */
function parsePaging(request: SearchRequest__Output): { size: number; page: number } {
  const paging = { size: request.size || DEFAULT_SIZE, page: request.page || 1 };
  for (const field of ['size', 'page'] as const) {
    if (paging[field] < 1) throw invalidField(field, 'Must be greater than or equal to 1.');
  }
  const { size, page } = paging;
  if (size > MAX_PAGE_SIZE) throw invalidField('size', `Page size cannot be greater than ${MAX_PAGE_SIZE}.`);
  if (request.cursor !== '' && page > 1) throw invalidField('page', 'A cursor takes the place of the page.');
  if (request.cursor === '' && page * size > MAX_PAGED_HITS) throw pageTooFar();
  return paging;
}

function pageTooFar(): ServiceError {
  const message = `Only the first ${MAX_PAGED_HITS} hits can be reached by pages; cursor=* goes through all of them.`;
  return new ServiceError('invalid', 'Invalid querystring parameters.', {
    issues: [{ field: 'page', messages: [message] }],
    code: 'page_too_far',
  });
}

function parseKinds({ kinds }: SearchRequest__Output, { takesIds }: ListingSettings): EntityKind[] {
  if (takesIds) return ['record'];
  return kinds.length === 0 ? [...ENTITY_KINDS] : ENTITY_KINDS.filter((kind) => kinds.includes(kind));
}

function parseSort(sort: string, { sorts, defaultSort }: ListingSettings, hasQuery: boolean): Sort {
  if (sort === '') return hasQuery ? 'bestmatch' : defaultSort;
  const option = findSort(sort, sorts);
  return option === 'bestmatch' && !hasQuery ? defaultSort : option;
}

/** Newest first by default: concurrent writes do not move older hits. */
function parseCursorSort(sort: string, { sorts }: ListingSettings): CursorSort {
  const option = findSort(sort === '' ? 'newest' : sort, sorts);
  if (option === 'bestmatch') throw invalidCursor('A cursor follows any order but bestmatch.');
  return option;
}

function findSort(sort: string, sorts: readonly Sort[]): Sort {
  const found = sorts.find((option) => option === sort);
  if (found === undefined) throw invalidSort(sort, sorts);
  return found;
}

function invalidSort(sort: string, sorts: readonly Sort[]): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field: '_schema', messages: [`Invalid sort option '${sort}'.`] }],
    members: { hint: `sort: must be one of: ${sorts.join(', ')}.` },
  });
}

/** Parameters that clients of the original send to listings without such a filter, to no effect. */
const IGNORED = new Set(['f', 'filters', 'include_deleted', 'is_published', 'shared_with_me', 'status']);
/** Only for messages: the gateway parses them. */
const OTHER_PARAMETERS = ['q', 'bbox', 'sort', 'size', 'page', 'cursor', 'allversions'];

/** @throws ServiceError `invalid`: a parameter that is neither a facet of the listing nor ignored */
function parseSelection(
  { filters }: SearchRequest__Output,
  { facets }: ListingSettings,
): Record<string, string[]> {
  const unknown = filters.filter(({ name }) => !facets.includes(name) && !IGNORED.has(name));
  if (unknown.length > 0) {
    const allowed = [...OTHER_PARAMETERS, ...facets].join(', ');
    throw new ServiceError('invalid', 'A validation error occurred.', {
      code: 'unknown_parameter',
      issues: unknown.map(({ name }) => ({
        field: name,
        messages: [`Unknown query parameter. This listing takes ${allowed}.`],
      })),
    });
  }
  const selected: Record<string, string[]> = {};
  for (const { name, values } of filters) {
    const chosen = values.filter((value) => value !== '');
    if (!facets.includes(name) || chosen.length === 0) continue;
    selected[name] = [...new Set([...(selected[name] ?? []), ...chosen])];
  }
  return selected;
}
