import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { LIFETIME_MS } from '../response-cache/response-cache.ts';

const RECORD = '/api/records/e7vvn-90a62';
const FILE = `${RECORD}/files/a/content`;

let gateway: GatewayUnderTest;
let token: string;
let requests: string[];

beforeAll(async () => {
  gateway = await startGateway();
  ({ token } = await gateway.createUser('ada'));
  gateway.script.content = (_request, response) => response.end('bytes');
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.later(LIFETIME_MS);
  requests = [];
  gateway.script.records = { Authorise: async ({ id }) => authorised(id) };
});

function authorised(id: string) {
  requests.push(id);
  return { ticket: `ticket of ${id}`, parentId: 'parent', filesEnabled: true };
}

async function statusOf(path: string, init: Parameters<GatewayUnderTest['fetch']>[1] = {}): Promise<number> {
  const response = await gateway.fetch(path, init);
  await response.arrayBuffer();
  return response.status;
}

test('anonymous readers of the published files of one entity share a ticket for a second', async () => {
  const statuses = [await statusOf(FILE), await statusOf(FILE), await statusOf(FILE.replace('/a/', '/b/'))];
  const before = requests.length;
  gateway.later(LIFETIME_MS);
  await statusOf(FILE);
  expect([statuses, before, requests.length]).toEqual([[200, 200, 200], 1, 2]);
});

test('a user and readers of other entities do not share it', async () => {
  await statusOf(FILE);
  await statusOf(FILE, { token });
  await statusOf(FILE, { token });
  await statusOf(FILE.replace('e7vvn', 'f8ww0'));
  expect(requests).toHaveLength(4);
});

test('a refusal is not shared', async () => {
  gateway.script.records = {
    Authorise: async () => {
      throw new ServiceError('forbidden', 'Permission denied.');
    },
  };
  const refused = await statusOf(FILE);
  gateway.script.records = { Authorise: async ({ id }) => authorised(id) };
  expect([refused, await statusOf(FILE)]).toEqual([403, 200]);
});

test('a change through this gateway ends it', async () => {
  await statusOf(FILE);
  gateway.script.packages.Publish = async () => ({ publicationId: 'x' });
  await statusOf(`${RECORD}/draft/actions/publish`, { method: 'POST', token });
  await statusOf(FILE);
  expect(requests.length).toBe(2);
});
