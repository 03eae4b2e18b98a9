import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

let gateway: GatewayUnderTest;
let token: string;
let calls: string[];

beforeAll(async () => {
  gateway = await startGateway({}, { limits: { waitForIndexMs: 60_000 } });
  ({ token } = await gateway.createUser('ada'));
});
afterAll(() => gateway.stop());
beforeEach(() => {
  calls = [];
  gateway.script.records.CreateDraft = async () => {
    calls.push('create');
    return { document: aDocument() };
  };
  gateway.script.records.Authorise = async () => ({ ticket: 'ticket', filesEnabled: true });
  gateway.script.files.DeleteEntries = async () => ({ keys: [] });
  gateway.script.files.ListEntries = async () => ({ entries: [] });
  gateway.script.records.ClearPreview = async () => ({});
  gateway.script.files.AwaitFileEventsSent = async () => {
    calls.push('files');
    return { areSent: true };
  };
  gateway.script.search.AwaitIndex = async () => {
    calls.push('index');
    return { isFound: true };
  };
});

async function call(method: string, path: string, headers: Record<string, string> = {}) {
  const body = method === 'POST' ? { body: '{}' } : {};
  const response = await gateway.fetch(path, { method, token, headers, ...body });
  const text = await response.text();
  return { status: response.status, index: response.headers.get('knowledge-index'), text };
}
const create = (query: string, headers?: Record<string, string>) =>
  call('POST', `/api/records${query}`, headers);

test('a change that wants to be found is answered as any other, after it is found', async () => {
  const plain = await create('');
  expect({ ...plain, calls }).toMatchObject({ status: 201, index: null, calls: ['create'] });
  calls = [];
  expect(await create('?wait_for_index=true')).toEqual({ ...plain, index: 'found' });
  expect(calls).toEqual(['create', 'index']);
  expect(await create('?wait_for_index=false')).toEqual(plain);
});

test('files are waited for too, where they were changed', async () => {
  expect(await call('DELETE', '/api/records/e7vvn-90a62/draft/files?wait_for_index=true')).toMatchObject({
    status: 204,
    index: 'found',
  });
  expect(calls).toEqual(['files', 'index']);
});

test.each<[string, () => void]>([
  ['is not found in time', () => (gateway.script.search.AwaitIndex = async () => ({ isFound: false }))],
  [
    'cannot be requested',
    () => {
      gateway.script.search.AwaitIndex = async () => {
        throw new ServiceError('unavailable', 'away');
      };
    },
  ],
])('what %s is pending, and made all the same', async (_name, spoil) => {
  spoil();
  expect(await create('?wait_for_index=true')).toMatchObject({ status: 201, index: 'pending' });
});

test('the wait is bounded when a service does not answer', async () => {
  const hasty = await startGateway({}, { limits: { waitForIndexMs: 50 } });
  try {
    const { token: other } = await hasty.createUser('ada');
    hasty.script.records.CreateDraft = async () => ({ document: aDocument() });
    hasty.script.search.AwaitIndex = (_request, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ isFound: true })));
    const response = await hasty.fetch('/api/records?wait_for_index=true', {
      method: 'POST',
      token: other,
      body: '{}',
    });
    expect([response.status, response.headers.get('knowledge-index')]).toEqual([201, 'pending']);
  } finally {
    await hasty.stop();
  }
});

test('a repeated request waits again, and returns the present state', async () => {
  const key = { 'idempotency-key': 'found-or-not' };
  gateway.script.search.AwaitIndex = async () => ({ isFound: false });
  const first = await create('?wait_for_index=true', key);
  gateway.script.search.AwaitIndex = async () => ({ isFound: true });
  expect([first.index, await create('?wait_for_index=true', key)]).toEqual([
    'pending',
    { ...first, index: 'found' },
  ]);
  expect(calls).toEqual(['create']);
});

test.each(['yes', '', '1', 'TRUE', 'true&wait_for_index=no'])(
  'wait_for_index=%s is refused before anything is done',
  async (value) => {
    const { status, text } = await create(`?wait_for_index=${value}`);
    expect([status, JSON.parse(text).errors, calls]).toEqual([
      400,
      [{ field: 'wait_for_index', messages: ['Must be true or false.'] }],
      [],
    ]);
  },
);

test('what is refused does not wait, nor what changes nothing that is found', async () => {
  gateway.script.records.CreateDraft = async () => {
    throw new ServiceError('forbidden', 'No.');
  };
  expect(await create('?wait_for_index=true')).toMatchObject({ status: 403, index: null });
  const read = await gateway.fetch('/api/user?wait_for_index=perhaps', { token });
  expect([read.status, read.headers.get('knowledge-index'), calls]).toEqual([200, null, []]);
});
