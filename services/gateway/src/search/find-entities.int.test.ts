import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { SearchRequest__Output } from '@kr/contracts';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const HIT = { kind: 'record', id: 'e7vvn-90a62', isDraft: true };

let gateway: GatewayUnderTest;
let token: string;
/** The calls of the services, in order. */
let calls: string[];

beforeAll(async () => {
  gateway = await startGateway();
  ({ token } = await gateway.createUser('ada'));
});
afterAll(() => gateway.stop());
beforeEach(() => {
  calls = [];
  gateway.script.search.Search = async () => {
    calls.push('search');
    return { hits: [HIT], total: 1 };
  };
  gateway.script.records.ReadEntities = async ({ refs }) => {
    calls.push(`records: ${refs.length}`);
    return { results: [{ document: aDocument() }] };
  };
  gateway.script.packages.ReadEntities = async ({ refs }) => {
    calls.push(`packages: ${refs.length}`);
    return { results: [] };
  };
});

async function list(path = '/api/user/records'): Promise<unknown[]> {
  const response = await gateway.fetch(path, { token });
  const { hits } = (await response.json()) as { hits: { hits: { id: string }[] } };
  expect([response.status, hits.hits.map(({ id }) => id)]).toEqual([200, [HIT.id]]);
  return calls;
}

test('a page is searched once, and its hits are read from their services alone', async () => {
  expect(await list()).toEqual(['search', 'records: 1']);
});

test('pages reach as far as the search service allows', async () => {
  gateway.script.search.Search = async ({ page }: SearchRequest__Output) => ({
    hits: [HIT],
    total: 99_999,
    isNextTooFar: page !== 2_000,
  });
  const next = async (page: number) => {
    const response = await gateway.fetch(`/api/search?page=${page}`);
    const { links } = (await response.json()) as { links: { next?: string } };
    return [response.status, links.next];
  };
  expect(await next(2_000)).toEqual([200, expect.stringContaining('page=2001&size=10')]);
  expect(await next(3)).toEqual([200, undefined]);
});

test('the default number of suggestions is that of the search service', async () => {
  const sizes: number[] = [];
  gateway.script.search.Suggest = async ({ size }) => {
    sizes.push(size);
    return { suggestions: [] };
  };
  for (const query of ['q=flo', 'q=flo&size=7']) {
    expect((await gateway.fetch(`/api/search/suggest?${query}`)).status).toBe(200);
  }
  expect(sizes).toEqual([0, 7]);
});

test('a suggestion is shown as long as a document that it is of may be read in that revision', async () => {
  const source = (id: string, revision: number, kind = 'record') => ({ kind, id, revision });
  gateway.script.search.Suggest = async () => ({
    suggestions: [
      { value: 'Readable', count: 2, sources: [source('readable', 4), source('changed', 3)] },
      { value: 'Restricted since', count: 1, sources: [source('restricted', 4)] },
      { value: 'Changed since', count: 1, sources: [source('changed', 3)] },
      {
        value: 'Of another document',
        count: 2,
        sources: [source('restricted', 4), source('a-package', 4, 'package')],
      },
      { value: 'Gone', count: 1, sources: [source('gone', 1, 'package')] },
      { value: 'Of none', count: 1, sources: [] },
    ],
  });
  const detail = { message: 'No.', issues: [], code: '', retryAfterMs: 0 };
  gateway.script.records.ReadEntities = async ({ refs, omitJson }) => ({
    results: refs.map(({ id, form }) =>
      omitJson && form === 'FORM_PUBLISHED' && id !== 'restricted'
        ? { document: { id, form, revision: 4 } }
        : { error: { ...detail, kind: 'forbidden' } },
    ),
  });
  gateway.script.packages.ReadEntities = async ({ refs }) => ({
    results: refs.map(({ id }) =>
      id === 'gone' ? { error: { ...detail, kind: 'not_found' } } : { document: { id, revision: 4 } },
    ),
  });
  const response = await gateway.fetch('/api/search/suggest?q=a');
  expect(await response.json()).toEqual({
    suggestions: [
      { value: 'Readable', count: 2 },
      { value: 'Of another document', count: 2 },
    ],
  });
});

test('the list of a package is restricted to its resources', async () => {
  gateway.script.packages.ListResources = async () => ({ ids: [HIT.id] });
  gateway.script.search.Search = async ({ onlyIds }) => {
    calls.push(`of ${onlyIds}`);
    return { hits: [HIT], total: 1 };
  };
  expect(await list('/api/packages/qbyhw-yw493/draft/resources')).toEqual(['of e7vvn-90a62', 'records: 1']);
});

test.each([
  [true, [HIT.id]],
  [false, []],
])(
  'resources of a package that is published (%s) are missed in the index: %j',
  async (isPublished, missed) => {
    const published: string[][] = [];
    gateway.script.packages.ListResources = async () => ({ ids: [HIT.id], isPublished });
    gateway.script.search.Search = async ({ publishedIds }) => {
      published.push(publishedIds);
      return { hits: [HIT], total: 1 };
    };
    await list('/api/packages/qbyhw-yw493/resources');
    expect(published).toEqual([missed]);
  },
);
