import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const PROBLEM = 'application/problem+json';
const REQUEST_ID = 'a-request-of-ours';

let gateway: GatewayUnderTest;
let token: string;
beforeAll(async () => {
  gateway = await startGateway({}, { limits: { bodyMaxBytes: 2_048 } });
  ({ token } = await gateway.createUser('ada'));
});
afterAll(() => gateway.stop());

async function ask(path: string, init: RequestInit & { token?: string }, accept: string) {
  const headers = { accept, 'x-request-id': REQUEST_ID };
  const response = await gateway.fetch(path, { ...init, headers });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    vary: response.headers.get('vary'),
    body: (await response.json()) as Record<string, unknown>,
  };
}

describe('problem details over HTTP', () => {
  test.each<[string, string, RequestInit & { own?: boolean }, object]>([
    ['an unknown URL', '/nowhere', {}, { status: 404, title: 'Not Found' }],
    ['a method', '/api/records', { method: 'DELETE' }, { status: 405, title: 'Method Not Allowed' }],
    [
      'no credentials',
      '/api/user',
      {},
      { status: 401, title: 'Unauthorized', detail: 'Authentication required.' },
    ],
    [
      'a body that is no JSON',
      '/api/records',
      { method: 'POST', body: '{', own: true },
      { status: 400, detail: 'Unable to decode JSON data in request body.' },
    ],
    [
      'a key twice',
      '/api/records',
      { method: 'POST', body: '{"a":1,"a":2}', own: true },
      { status: 400, errors: [{ field: 'a', messages: ['Duplicate key.'] }] },
    ],
    [
      'a body that is too large',
      '/api/records',
      { method: 'POST', body: JSON.stringify('x'.repeat(3_000)), own: true },
      { status: 413 },
    ],
  ])('%s', async (_name, path, { own = false, ...init }, says) => {
    for (const accept of [PROBLEM, `application/json, ${PROBLEM}`]) {
      const answer = await ask(path, own ? { ...init, token } : init, accept);
      expect(answer).toEqual({
        status: answer.status,
        type: PROBLEM,
        vary: 'Accept, Authorization',
        body: expect.objectContaining({
          type: 'about:blank',
          instance: `urn:request:${REQUEST_ID}`,
          status: answer.status,
          ...says,
        }),
      });
    }
  });

  test('have the code of the cause, and are for errors only', async () => {
    gateway.script.records.ReadEntities = async ({ refs }) => ({
      results: refs.map(() => ({ document: aDocument({ form: 'FORM_PUBLISHED' }) })),
    });
    const { status, type } = await ask('/api/records/e7vvn-90a62', {}, PROBLEM);
    expect([status, type]).toEqual([200, 'application/json']);

    gateway.script.search.Search = async () => {
      throw new ServiceError('unavailable', 'The search took too long.', { code: 'search_timeout' });
    };
    const failed = await ask('/api/search', {}, PROBLEM);
    expect([failed.status, failed.body['code']]).toEqual([503, 'search_timeout']);
    const plain = await ask('/api/search', {}, '*/*');
    expect([plain.type, plain.body]).toEqual([
      'application/json',
      { status: 503, message: 'The search took too long.', code: 'search_timeout' },
    ]);
  });
});
