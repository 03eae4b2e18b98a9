import { describe, expect, test } from '@jest/globals';
import { anonymous, type Principal, servicePrincipal } from '@kr/caller';
import type { SearchRequest__Output } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import { parseQuery } from '../query/parse-query.ts';
import { QUERY_LIMITS, type QueryLimits } from '../query/query-tree.ts';
import { formatCursor } from './cursor.ts';
import { parseSearch } from './parse-search.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const NOBODY = anonymous('request');
const ANN: Principal = { ...NOBODY, userId: 'ann' };

const REQUEST: SearchRequest__Output = {
  listing: 'LISTING_PUBLISHED',
  kinds: [],
  q: '',
  bbox: '',
  sort: '',
  size: 10,
  page: 1,
  allVersions: false,
  filters: [],
  cursor: '',
  onlyIds: [],
  publishedIds: [],
  caller: '',
};

const read = (request: Partial<SearchRequest__Output>, principal: Principal = NOBODY) =>
  parseSearch({ ...REQUEST, ...request }, principal, NOW).search;

function refusal(request: Partial<SearchRequest__Output>, principal?: Principal): unknown {
  try {
    return read(request, principal);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [error.kind, error.message, ...error.issues];
  }
}

describe('readSearch', () => {
  test('uses the defaults of the listing for absent parameters', () => {
    expect(read({ size: 0, page: 0 })).toEqual({
      viewer: { seesAll: false, userId: null, viewParentIds: [], previewParentIds: [] },
      scope: {
        forms: 'published',
        kinds: ['record', 'package'],
        latestOnly: true,
        onlyIds: null,
        publishedIds: [],
      },
      query: null,
      boxes: null,
      sort: 'newest',
      offset: 0,
      after: null,
      limit: 10,
      facets: [
        'category',
        'record_type',
        'resource_type',
        'geo_work_programme_activity',
        'target_audience',
        'engagement_priority',
        'subject',
      ],
      selected: {},
      now: NOW,
    });
  });

  test.each<[listing: SearchRequest__Output['listing'], sort: string, withQuery: string, facets: string[]]>([
    ['LISTING_PACKAGE_RESOURCES', 'newest', 'bestmatch', ['access_status', 'resource_type', 'base_type']],
    [
      'LISTING_DRAFT_RESOURCES',
      'updated-desc',
      'bestmatch',
      ['access_status', 'is_published', 'resource_type', 'base_type'],
    ],
  ])('%s lists the named resources in all versions', (listing, sort, withQuery, facets) => {
    const { scope, ...search } = read({ listing, onlyIds: ['a'], kinds: ['package'] });
    expect({ scope, sort: search.sort, facets: search.facets }).toEqual({
      scope: expect.objectContaining({ kinds: ['record'], latestOnly: false, onlyIds: ['a'] }),
      sort,
      facets,
    });
    expect(read({ listing, q: 'x' }).sort).toBe(withQuery);
  });

  test.each<[request: Partial<SearchRequest__Output>, sort: string]>([
    [{ sort: 'bestmatch' }, 'newest'],
    [{ sort: 'bestmatch', q: 'x' }, 'bestmatch'],
    [{ q: 'x' }, 'bestmatch'],
    [{ q: ' ' }, 'newest'],
    [{ sort: 'oldest', q: 'x' }, 'oldest'],
    [{ sort: 'version' }, 'version'],
    [{ listing: 'LISTING_USER' }, 'updated-desc'],
    [{ listing: 'LISTING_USER', sort: 'bestmatch' }, 'updated-desc'],
    [{ listing: 'LISTING_USER', sort: 'updated-asc' }, 'updated-asc'],
    [{ cursor: '*', q: 'x' }, 'newest'],
    [{ listing: 'LISTING_USER', cursor: '*' }, 'newest'],
    [{ listing: 'LISTING_USER', cursor: '*', sort: 'updated-asc' }, 'updated-asc'],
  ])('%j is sorted by %s', (request, sort) => {
    expect(read(request, ANN).sort).toBe(sort);
  });

  test('facets are counted for the first page of a cursor alone', () => {
    const place = { createdAt: '2026-01-01T00:00:00.000000Z', updatedAt: '2026-01-01T00:00:00.000000Z' };
    const cursor = formatCursor('newest', { ...place, versionIndex: 1, id: 'a', form: 'published' });
    expect(read({ cursor: '*' }).facets).toContain('subject');
    expect(read({ cursor }).facets).toEqual([]);
  });

  test.each<[request: Partial<SearchRequest__Output>, error: unknown[]]>([
    [
      { size: -1 },
      ['A validation error occurred.', { field: 'size', messages: ['Must be greater than or equal to 1.'] }],
    ],
    [
      { page: -1 },
      ['A validation error occurred.', { field: 'page', messages: ['Must be greater than or equal to 1.'] }],
    ],
    [
      { size: 1_001 },
      [
        'A validation error occurred.',
        { field: 'size', messages: ['Page size cannot be greater than 1000.'] },
      ],
    ],
    [
      { size: 100, page: 101 },
      [
        'Invalid querystring parameters.',
        {
          field: 'page',
          messages: ['Only the first 10000 hits can be reached by pages; cursor=* goes through all of them.'],
        },
      ],
    ],
    [
      { cursor: '*', page: 2 },
      [
        'A validation error occurred.',
        { field: 'page', messages: ['A cursor takes the place of the page.'] },
      ],
    ],
    [
      { cursor: '*', q: 'x', sort: 'bestmatch' },
      [
        'A validation error occurred.',
        { field: 'cursor', messages: ['A cursor follows any order but bestmatch.'] },
      ],
    ],
    [
      { cursor: '*', sort: 'updated-asc' },
      [
        'A validation error occurred.',
        { field: '_schema', messages: ["Invalid sort option 'updated-asc'."] },
      ],
    ],
    [
      { cursor: 'Kg' },
      [
        'A validation error occurred.',
        {
          field: 'cursor',
          messages: ['Not a cursor: start with *, and continue with the link to the next page.'],
        },
      ],
    ],
    [{ bbox: '1,2,3' }, ['Invalid querystring parameters.']],
    [
      { q: '(' },
      ['Invalid query string syntax.', { field: 'q', messages: ['The query ends too early at position 2.'] }],
    ],
    [
      { sort: 'mostviewed' },
      ['A validation error occurred.', { field: '_schema', messages: ["Invalid sort option 'mostviewed'."] }],
    ],
    [
      { sort: 'updated-asc' },
      [
        'A validation error occurred.',
        { field: '_schema', messages: ["Invalid sort option 'updated-asc'."] },
      ],
    ],
    [
      { listing: 'LISTING_PACKAGE_RESOURCES', sort: 'updated-desc' },
      [
        'A validation error occurred.',
        { field: '_schema', messages: ["Invalid sort option 'updated-desc'."] },
      ],
    ],
    [{ listing: 'LISTING_UNSPECIFIED' }, ['Unknown listing.']],
  ])('%j is refused', (request, error) => {
    expect(refusal(request)).toEqual(['invalid', ...error]);
  });

  test.each<[limit: Partial<QueryLimits>, q: string, message: string]>([
    [{ maxLength: 3 }, 'abcd', 'The query is longer than 3 characters at position 4.'],
    [{ maxClauses: 1 }, 'a b', 'More than 1 clauses at position 3.'],
    [{ maxDepth: 1 }, '((a))', 'More than 1 parentheses within each other at position 2.'],
    [{ maxWildcards: 1 }, 'abc* abd*', 'More than 1 words with wildcards at position 6.'],
    [
      { minWildcardPrefix: 4 },
      'abc*',
      'A wildcard needs at least 4 characters of its word before it at position 1.',
    ],
    [{ maxFuzzy: 1 }, 'abc~ abd~', 'More than 1 words with "~" at position 6.'],
    [{ maxSlop: 1 }, '"a b"~2', 'Words may be at most 1 places apart at position 6.'],
  ])('the limit %j of queries holds', (limit, q, message) => {
    expect(() => parseQuery(q, { ...QUERY_LIMITS, ...limit })).toThrow(
      expect.objectContaining({ code: 'query_too_complex', issues: [{ field: 'q', messages: [message] }] }),
    );
    expect(read({ q }).query).not.toBeNull();
  });

  test('the last page of the window is valid', () => {
    expect(read({ size: 100, page: 100 })).toMatchObject({ offset: 9_900, limit: 100 });
  });

  test('only numbered pages end after 10,000 hits', () => {
    const isNextTooFar = (request: Partial<SearchRequest__Output>) =>
      parseSearch({ ...REQUEST, ...request }, NOBODY, NOW).isNextTooFar;
    expect([isNextTooFar({ page: 999 }), isNextTooFar({ page: 1_000 })]).toEqual([false, true]);
    expect(isNextTooFar({ page: 11, size: 900 })).toBe(true);
    expect(() => isNextTooFar({ page: 1_001 })).toThrow(expect.objectContaining({ code: 'page_too_far' }));
    expect(isNextTooFar({ cursor: '*', size: 1_000 })).toBe(false);
  });

  test('a personal listing needs a credential', () => {
    const error = ['unauthenticated', 'Authentication required.'];
    expect(refusal({ listing: 'LISTING_USER' })).toEqual(error);
    expect(read({ listing: 'LISTING_USER' }, ANN).scope.forms).toBe('own');
  });

  test('only facets of the listing filter, each value once', () => {
    const filters = [
      { name: 'resource_type', values: ['image', 'image', ''] },
      { name: 'resource_type', values: ['dataset'] },
      { name: 'shared_with_me', values: ['true'] },
      { name: 'subject', values: [''] },
    ];
    expect(read({ filters }).selected).toEqual({ resource_type: ['image', 'dataset'] });
  });

  test.each(['access_status', 'datetime', '__proto__', 'toString'])(
    'the unknown parameter %s is refused',
    (name) => {
      const message = expect.stringMatching(
        /^Unknown query parameter\. This listing takes q, bbox, .*subject\.$/,
      );
      expect(() => read({ filters: [{ name, values: ['open'] }] })).toThrow(
        expect.objectContaining({
          kind: 'invalid',
          code: 'unknown_parameter',
          issues: [{ field: name, messages: [message] }],
        }),
      );
    },
  );

  test.each<[who: string, principal: Principal, viewer: object]>([
    ['a stranger', NOBODY, { seesAll: false, userId: null, viewParentIds: [], previewParentIds: [] }],
    ['a user', ANN, { seesAll: false, userId: 'ann', viewParentIds: [], previewParentIds: [] }],
    [
      'an administrator',
      { ...ANN, isAdmin: true },
      { seesAll: true, userId: 'ann', viewParentIds: [], previewParentIds: [] },
    ],
    [
      'a service',
      servicePrincipal('records'),
      { seesAll: true, userId: null, viewParentIds: [], previewParentIds: [] },
    ],
    [
      'who holds links',
      {
        ...NOBODY,
        grants: [
          { linkId: '1', parentId: 'a', permission: 'view' },
          { linkId: '2', parentId: 'b', permission: 'preview' },
          { linkId: '3', parentId: 'c', permission: 'edit' },
        ],
      },
      { seesAll: false, userId: null, viewParentIds: ['a', 'b', 'c'], previewParentIds: ['b', 'c'] },
    ],
  ])('%s sees the entities of the grants', (_, principal, viewer) => {
    expect(read({}, principal).viewer).toEqual(viewer);
  });
});
