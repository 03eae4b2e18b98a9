import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, Failed, Listing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, packageOfResources, publish } from './story/stories.ts';

const POINT = { type: 'Point', coordinates: [90.5, 23.5] };

let system: TestSystem;
let author: HttpClient;
let visitor: HttpClient;
let main: Entity;

beforeAll(async () => {
  system = await startSystem({ environment: { RATE_LIMIT_ANONYMOUS: '0', RATE_LIMIT_USER: '0' } });
  author = httpClient(system.baseUrl, (await system.createUser('author')).token);
  visitor = httpClient(system.baseUrl);
  const made = await packageOfResources(author, 'Delta watch', 5);
  main = await publish(author, made.main);
  await author.sure('POST', `/packages/${main.id}/draft`);
  const metadata = {
    locations: { features: [{ geometry: POINT, place: 'Dhaka' }] },
    subjects: [{ subject: 'Sediments, fine' }],
  };
  const json = recordDocument('=Delta("sediments")', { metadata });
  await publish(author, await author.sure<Entity>('POST', '/records', { json }));
  await author.sure('POST', '/records', { json: recordDocument('Delta draft') });
  await until(async () => (await visitor.sure<Listing>('GET', '/search?size=1')).hits.total === 7);
});
afterAll(() => system?.stop());

const idsOf = ({ hits }: Listing) => hits.hits.map(({ id }) => id);

describe('a cursor', () => {
  const LISTINGS: [who: 'author' | 'visitor', path: (of: Entity) => string, holds: number][] = [
    ['visitor', () => '/search', 7],
    ['visitor', () => '/records', 6],
    ['visitor', () => '/packages', 1],
    ['author', () => '/user/search', 8],
    ['author', () => '/user/records', 7],
    ['author', () => '/user/packages', 1],
    ['visitor', ({ id }) => `/packages/${id}/resources`, 5],
    ['author', ({ id }) => `/packages/${id}/draft/resources`, 5],
    ['author', ({ parent }) => `/packages/context/${parent.id}/resources`, 5],
  ];

  test.each(
    LISTINGS.map(([who, path, holds]) => ({
      who,
      path,
      holds,
      shown: path({ id: '{id}', parent: { id: '{parent}' } } as Entity),
    })),
  )('leads the $who through $shown from page to page', async ({ who, path, holds }) => {
    const client = who === 'author' ? author : visitor;
    const inOne = await client.sure<Listing>('GET', `${path(main)}?sort=newest&size=100`);
    const passed: string[] = [];
    let next: string | undefined = `${path(main)}?cursor=*&size=2`;
    while (next !== undefined && passed.length < 100) {
      const page: Listing = await client.sure<Listing>('GET', next);
      expect([page.sortBy, page.hits.total, page.links['prev']]).toEqual(['newest', holds, undefined]);
      passed.push(...idsOf(page));
      next = page.links['next'];
    }
    expect(passed).toEqual(idsOf(inOne));
    expect(passed).toHaveLength(holds);
  });

  test('restricts results to the query', async () => {
    const first = await visitor.sure<Listing>(
      'GET',
      '/search?cursor=*&size=1&q=delta&resource_type=dataset&sort=oldest',
    );
    const second = await visitor.sure<Listing>('GET', link(first, 'next'));
    expect([second.sortBy, second.hits.total]).toEqual(['oldest', first.hits.total]);
    expect(new URL(link(second, 'self')).search).toMatch(
      /^\?cursor=[\w-]+&q=delta&resource_type=dataset&size=1&sort=oldest$/,
    );
  });

  test.each<[query: string, code: string, field: string, message: RegExp]>([
    ['page=101&size=100', 'page_too_far', 'page', /cursor=\*/],
    ['cursor=abc', 'invalid_cursor', 'cursor', /^Not a cursor/],
    ['cursor=*&page=2', 'invalid', 'page', /place of the page/],
    ['cursor=*&q=a&sort=bestmatch', 'invalid_cursor', 'cursor', /any order but bestmatch/],
  ])('is what a refusal of ?%s speaks of', async (query, code, field, message) => {
    const { status, body } = await visitor.call<Failed>('GET', `/search?${query}`);
    expect({ status, code: body.code, errors: body.errors }).toEqual({
      status: 400,
      code,
      errors: [{ field, messages: [expect.stringMatching(message)] }],
    });
  });
});

describe('hits in other forms', () => {
  const asked = (path: string, accept: string) =>
    visitor.call<Record<string, unknown>>('GET', path, { headers: { accept } });

  test.each(['/search', '/records'])('a table of %s', async (path) => {
    const { status, headers, text } = await asked(`${path}?sort=newest&size=1`, 'text/csv');
    const [hit] = (await visitor.sure<Listing>('GET', `${path}?sort=newest&size=1`)).hits.hits;
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv']);
    expect(headers.get('link')).toBe(`<${system.baseUrl}/api${path}?page=2&size=1&sort=newest>; rel="next"`);
    expect(text).toBe(
      'id,doi,title,creators,publication_date,resource_type,access_status,url,licences,west,south,east,north\r\n' +
        `${hit?.id},,"'=Delta(""sediments"")","Moreau, Lise",2026-03-02,dataset,` +
        `metadata-only,${system.baseUrl}/api/records/${hit?.id},,90.5,23.5,90.5,23.5\r\n`,
    );
    const { headers: same } = await visitor.call('GET', `${path}?format=csv`);
    expect(same.get('content-type')).toBe('text/csv');
    expect((await visitor.call('GET', `${path}?format=pdf`)).status).toBe(400);
  });

  test('a map of the hits in a box', async () => {
    const { headers, text } = await asked('/records?bbox=90,24,91,23', 'application/geo+json');
    const { features, ...collection } = JSON.parse(text) as {
      features: { geometry: unknown; properties: { title: string } }[];
    };
    expect(headers.get('content-type')).toBe('application/geo+json');
    expect(collection).toMatchObject({ type: 'FeatureCollection', numberMatched: 1, numberReturned: 1 });
    expect(features.map(({ geometry, properties }) => [geometry, properties.title])).toEqual([
      [POINT, '=Delta("sediments")'],
    ]);
  });

  test('are given where searches are, and refusals are JSON', async () => {
    expect((await asked('/packages', 'text/csv;q=0.9, text/html')).headers.get('content-type')).toBe(
      'text/csv',
    );
    expect((await asked('/search', 'text/html, */*;q=0.8')).headers.get('content-type')).toBe(
      'application/json',
    );
    expect((await asked('/search', 'image/png')).status).toBe(406);
    expect((await asked(`/packages/${main.id}/resources`, 'text/csv')).status).toBe(406);
    const refused = await asked('/search?q=(', 'text/csv');
    expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'application/json']);
  });
});

test('what is typed leads to titles, creators and subjects', async () => {
  const suggested = async (client: HttpClient, query: string) =>
    (await client.sure<{ suggestions: object[] }>('GET', `/search/suggest?${query}`)).suggestions;
  expect(await suggested(visitor, 'q=watch del&size=2')).toEqual([
    { value: 'Delta watch', count: 1 },
    { value: 'Delta watch, part 1', count: 1 },
  ]);
  expect(await suggested(visitor, 'q=mor&type=creator')).toEqual([{ value: 'Moreau, Lise', count: 7 }]);
  expect(await suggested(visitor, 'q=FÍN&type=subject')).toEqual([{ value: 'Sediments, fine', count: 1 }]);
  expect(await suggested(author, 'q=delta dra')).toEqual([]);
  expect((await visitor.call('GET', '/search/suggest?q=a&type=author')).status).toBe(400);
});
