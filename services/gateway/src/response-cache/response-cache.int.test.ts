import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type EntityDocument, eventCodecs } from '@kr/contracts';
import { connectBus } from '@kr/event-bus';
import { toErrorDetail } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { startNats, type TestNats, until } from '@kr/testbed';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { LIFETIME_MS } from './response-cache.ts';

const ID = 'e7vvn-90a62';
const PATH = `/api/records/${ID}`;
const PUBLISHED: Partial<EntityDocument> = { form: 'FORM_PUBLISHED' };

let nats: TestNats;
let gateway: GatewayUnderTest;
let token: string;
/** The number of calls of the records service. */
let reads = 0;

beforeAll(async () => {
  nats = await startNats();
  gateway = await startGateway({ NATS_URL: nats.url, TRUSTED_PROXIES: 'loopback' });
  ({ token } = await gateway.createUser('ada'));
  await untilItListens();
});
afterAll(async () => {
  await gateway.stop();
  await nats.stop();
});
beforeEach(() => {
  gateway.later(LIFETIME_MS);
  reads = 0;
  show(aDocument(PUBLISHED));
});

function show(document: EntityDocument): void {
  gateway.script.records.ReadEntities = async () => {
    reads += 1;
    return { results: [{ document }] };
  };
}

function refuse(error: ServiceError): void {
  gateway.script.records.ReadEntities = async () => {
    reads += 1;
    return { results: [{ error: toErrorDetail(error) }] };
  };
}

const SAME_ID = { headers: { 'x-request-id': 'the-same-for-all' } };

/** Everything that goes over the wire but the date. */
async function whole(path: string, init: Parameters<GatewayUnderTest['fetch']>[1] = {}) {
  const response = await gateway.fetch(path, { ...init, headers: { ...SAME_ID.headers, ...init.headers } });
  const headers = [...response.headers].filter(([name]) => name !== 'date');
  return { status: response.status, headers, bytes: Buffer.from(await response.arrayBuffer()).toString() };
}

const CHANGED = 'knowledge.records.record.changed';
const changed = (id: string, parentId: string) => eventCodecs[CHANGED].encode({ id, parentId, revision: 5 });

/**
 * When the gateway first receives events, it clears its cache: at most twice, and this test is about one more
 * time.
 */
async function untilItListens(): Promise<void> {
  const [path, parentId] = ['/api/records/other-00000', 'another parent'];
  const bus = connectBus({ servers: nats.url, name: 'test', logger: createLogger('test') });
  const connection = await bus.whenUp();
  show(aDocument({ ...PUBLISHED, parentId }));
  for (let forgotten = 0; forgotten < 3; forgotten += 1) {
    await whole(path);
    const before = reads;
    await until(async () => {
      connection.publish(CHANGED, changed('other-00000', parentId));
      await whole(path);
      return reads > before;
    });
  }
  await bus.close();
}

describe('an anonymous read of a published entity', () => {
  test.each<{ name: string; init: RequestInit }>([
    { name: 'as GET', init: {} },
    { name: 'as HEAD', init: { method: 'HEAD' } },
    { name: 'in another media type', init: { headers: { accept: 'application/vnd.inveniordm.v1+json' } } },
    { name: 'of a known revision', init: { headers: { 'if-none-match': '"4"' } } },
    { name: 'of another revision', init: { headers: { 'if-none-match': '"3"' } } },
  ])('$name is the same, byte by byte, from the cache', async ({ init }) => {
    const fresh = await whole(PATH, init);
    const readsBefore = reads;
    const cached = await whole(PATH, init);
    expect([cached, readsBefore, reads]).toEqual([fresh, 1, 1]);
  });

  test('is answered 304 from the cache of a full answer', async () => {
    await whole(PATH);
    const again = await whole(PATH, { headers: { 'if-none-match': '"4"' } });
    expect([again.status, again.bytes, reads]).toEqual([304, '', 1]);
  });

  test('is read again after a second', async () => {
    await whole(PATH);
    gateway.later(LIFETIME_MS - 1);
    await whole(PATH);
    expect(reads).toBe(1);
    gateway.later(1);
    show(aDocument({ ...PUBLISHED, revision: 5 }));
    expect(Object.fromEntries((await whole(PATH)).headers)['etag']).toBe('"5"');
  });

  test('that became restricted is refused after a second, also without an event', async () => {
    await whole(PATH);
    refuse(new ServiceError('forbidden', 'Permission denied.'));
    gateway.later(LIFETIME_MS);
    expect((await whole(PATH)).status).toBe(403);
  });

  test('that became restricted elsewhere is refused as soon as its event passes', async () => {
    const bus = connectBus({ servers: nats.url, name: 'test', logger: createLogger('test') });
    const connection = await bus.whenUp();
    await whole(PATH);
    refuse(new ServiceError('forbidden', 'Permission denied.'));
    expect((await whole(PATH)).status).toBe(200);
    await until(async () => {
      connection.publish(CHANGED, changed(ID, 'qbyhw-yw493'));
      return (await whole(PATH)).status === 403;
    });
    await bus.close();
  });

  test('after a publication here is read again, and the old answer is never sent again', async () => {
    await whole(PATH);
    gateway.script.packages.Publish = async () => ({ publicationId: 'x' });
    gateway.script.records.ReadEntities = async () => ({
      results: [{ document: aDocument({ ...PUBLISHED, revision: 9 }) }],
    });
    const { status } = await whole(`${PATH}/draft/actions/publish`, { method: 'POST', token });
    expect([status, Object.fromEntries((await whole(PATH)).headers)['etag']]).toEqual([202, '"9"']);
  });
});

describe('never cached is', () => {
  async function callTwice(first: Parameters<typeof whole>[1], path = PATH): Promise<number> {
    await whole(path, first);
    await whole(path);
    return reads;
  }

  test('what a token opened', async () => {
    expect(await callTwice({ token })).toBe(2);
  });

  test('what not everybody may see', async () => {
    show(aDocument({ ...PUBLISHED, isPublic: false }));
    expect(await callTwice({})).toBe(2);
  });

  test('an answer to a query', async () => {
    expect(await callTwice({}, `${PATH}?prettyprint=1`)).toBe(2);
  });

  test.each([
    new ServiceError('not_found', 'The persistent identifier does not exist.'),
    new ServiceError('unavailable', 'Not decided yet.', { retryAfterMs: 1_000 }),
    new ServiceError('forbidden', 'Permission denied.'),
  ])('$kind: a first publication is seen at once', async (error) => {
    refuse(error);
    await whole(PATH);
    show(aDocument(PUBLISHED));
    expect((await whole(PATH)).status).toBe(200);
  });
});

describe('a cached answer', () => {
  test.each<{ name: string; init: Parameters<typeof whole>[1]; path?: string }>([
    {
      name: 'a bearer of a token',
      init: {
        get token() {
          return token;
        },
      },
    },
    { name: 'a bearer of nonsense', init: { headers: { authorization: 'Bearer x' } } },
    { name: 'a query', init: {}, path: `${PATH}?expand=1` },
    { name: 'another host', init: { headers: { 'x-forwarded-host': 'elsewhere.example' } } },
    { name: 'another media type', init: { headers: { accept: 'application/vnd.inveniordm.v1+json' } } },
    { name: 'an export', init: { headers: { accept: 'text/turtle, application/json;q=0.5' } } },
    { name: 'an unacceptable media type', init: { headers: { accept: 'image/png' } } },
    { name: 'a demand', init: { headers: { 'if-match': '3' } } },
    {
      name: 'the web service for a page to be cached',
      init: { headers: { 'cache-control': 'no-cache', 'x-web-key': 'any' } },
    },
    { name: 'a body', init: { headers: { 'content-type': 'text/plain' } } },
  ])('does not answer $name as it answers everybody', async ({ init, path = PATH }) => {
    const plain = await whole(PATH);
    const readsBefore = reads;
    const other = await whole(path, init);
    expect(reads > readsBefore || other.status !== plain.status).toBe(true);
  });
});
