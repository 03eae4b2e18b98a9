import { Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { anonymous } from '@kr/caller';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import type { Call } from '../http/endpoint.ts';
import { listTerms, listVocabularies, readTerm } from './vocabularies.ts';

function callOf(params: Record<string, string>, query = ''): Call {
  return {
    params,
    query: new URLSearchParams(query),
    path: `/api/vocabularies/${params['type']}`,
    headers: {},
    method: 'GET',
    body: undefined,
    rawBody: Buffer.alloc(0),
    bytes: Readable.from([]),
    creationKey: Buffer.alloc(0),
    mediaType: 'application/json',
    principal: anonymous('request'),
    requesterId: 'address 192.0.2.1',
    authenticateAgain: async () => {
      throw new Error('never called');
    },
    addCost: () => undefined,
    peer: undefined,
    baseUrl: 'http://here',
    vocabularies: RELEASED_VOCABULARIES,
    signal: new AbortController().signal,
  };
}

async function list(type: string, query = '') {
  const reply = await listTerms({ pageMaxSize: 1000 }, callOf({ type }, query));
  if (reply.as !== 'json') throw new Error('a listing is JSON');
  const { hits, links } = reply.body as {
    hits: { hits: { id: string }[]; total: number };
    links: Record<string, string>;
  };
  return { ids: hits.hits.map(({ id }) => id), total: hits.total, links };
}

async function failure(call: Promise<unknown>): Promise<[string, string]> {
  const { kind, message } = ServiceError.from(await call.catch((thrown: unknown) => thrown));
  return [kind, message];
}

describe('vocabularies', () => {
  test('show an entry with its address', async () => {
    const reply = await readTerm(callOf({ type: 'resourcetypes', termId: 'dataset' }));
    expect(reply).toMatchObject({
      status: 200,
      body: {
        id: 'dataset',
        links: { self: 'http://here/api/vocabularies/resourcetypes/dataset' },
        revision_id: 1,
        title: { en: 'Dataset' },
        icon: 'table',
        tags: ['depositable', 'linkable'],
        type: 'resourcetypes',
      },
    });
  });

  test('have no entry of an unknown id, and there is none of an unknown name', async () => {
    const requests = [
      readTerm(callOf({ type: 'resourcetypes', termId: 'nothing' })),
      readTerm(callOf({ type: 'nothing', termId: 'dataset' })),
      readTerm(callOf({ type: 'toString', termId: 'length' })),
      listTerms({ pageMaxSize: 10 }, callOf({ type: 'nothing' })),
    ];
    expect(await Promise.all(requests.map(failure))).toEqual([
      ['not_found', 'The persistent identifier does not exist.'],
      ['not_found', 'Not found.'],
      ['not_found', 'Not found.'],
      ['not_found', 'Not found.'],
    ]);
  });

  test.each([
    ['languages', 'suggest=eng', 'eng'],
    ['languages', 'q=English', 'eng'],
    ['licenses', 'q=CC BY 4.0', 'cc-by-4.0'],
    ['licenses', 'q=mit', 'mit'],
    ['licenses', 'suggest=cc-by-4', 'cc-by-4.0'],
  ])('%s?%s offers the best match first', async (type, query, first) => {
    expect((await list(type, `${query}&size=5`)).ids[0]).toBe(first);
  });

  test('refuse an order that there is none of', async () => {
    const call = listTerms({ pageMaxSize: 10 }, callOf({ type: 'languages' }, 'sort=x'));
    expect(await failure(call)).toEqual(['invalid', 'A validation error occurred.']);
  });

  test('are listed by type', async () => {
    const reply = await listVocabularies(callOf({}));
    expect(reply).toMatchObject({
      status: 200,
      body: {
        hits: {
          hits: expect.arrayContaining([
            { id: 'licenses', links: { self: 'http://here/api/vocabularies/licenses' } },
          ]),
          total: 16,
        },
      },
    });
  });

  test('are listed in pages', async () => {
    const { ids, total, links } = await list('titletypes', 'size=3&page=2');
    expect([ids.length, total, Object.keys(links)]).toEqual([1, 4, ['self', 'prev']]);
  });

  test.each([
    ['suggest=port', ['por']],
    ['q=PORTUGUESE', ['por']],
    ['q=pórt', ['por']],
    ['suggest=no such language', []],
  ])('find entries by %s', async (query, expected) => {
    const { ids } = await list('languages', `size=1000&${query}`);
    expect(ids.filter((id) => id === 'por')).toEqual(expected);
  });
});
