import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { exchange } from '../raw-exchange-fixture.ts';

const ENTITY = '/api/records/e7vvn-90a62';

let gateway: GatewayUnderTest;
let token: string;
/** How many requests the services work on, and what lets them go on. */
let inProgress: number;
let letGo: () => void;

beforeEach(async () => {
  gateway = await startGateway(
    { MAX_REQUESTS_IN_FLIGHT: '8', MAX_TRANSFERS_IN_FLIGHT: '2' },
    { limits: { bodyTimeoutMs: 300_000 } },
  );
  ({ token } = await gateway.createUser('ada'));
  inProgress = 0;
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const hold = async <Answer>(answer: Answer): Promise<Answer> => {
    inProgress += 1;
    await gone;
    inProgress -= 1;
    return answer;
  };
  gateway.script.search.Search = () => hold({ sortBy: 'newest', total: 0 });
  gateway.script.records.ReadEntities = ({ refs }) =>
    hold({ results: refs.map((ref) => ({ ref, document: aDocument({ form: 'FORM_PUBLISHED' }) })) });
});
afterEach(async () => {
  letGo();
  await gateway.stop();
});

type Init = Parameters<GatewayUnderTest['fetch']>[1];

async function ask(path: string, init: Init = {}) {
  const response = await gateway.fetch(path, init);
  const body = (await response.json()) as { code?: string; message?: string };
  const { status, headers } = response;
  return { status, code: body.code, message: body.message, retryAfter: headers.get('retry-after') };
}

/**
 * Sends this many requests, waits until the services work on all of them, and returns all answers in the end.
 */
async function keepBusy(path: string, times: number): Promise<{ statuses: Promise<number[]> }> {
  const before = inProgress;
  const sent = Array.from({ length: times }, async () => (await ask(path)).status);
  await until(() => inProgress === before + times);
  return { statuses: Promise.all(sent) };
}

/** A change that the gateway has admitted, and whose body is missing. */
async function announceChange() {
  const change = request(`${gateway.baseUrl}/api/records`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': 2,
      expect: '100-continue',
    },
  });
  const answered = once(change, 'response') as Promise<[IncomingMessage]>;
  change.flushHeaders();
  await once(change, 'continue');
  return {
    send: async () => {
      change.end('{}');
      const [answer] = await answered;
      return [answer.statusCode, ((await readJson(answer)) as { code?: string }).code];
    },
  };
}

describe('a gateway with as much under way as it may have', () => {
  test('refuses searches and changes first, then reads, and names the limit', async () => {
    const searches = await keepBusy('/api/search', 6);
    const refused = {
      status: 503,
      code: 'overloaded',
      message: 'The server is overloaded. The request was not processed; retry in 1 s.',
      retryAfter: '1',
    };
    expect(await ask('/api/search')).toEqual(refused);
    expect(await ask('/api/records', { method: 'POST', token, body: '{}' })).toEqual(refused);

    const reads = await keepBusy(ENTITY, 2);
    expect(await ask(ENTITY)).toMatchObject({
      code: 'overloaded',
      message: 'The server is overloaded. The request was not processed; retry in 1 s.',
    });
    letGo();
    expect([await searches.statuses, await reads.statuses].flat()).toEqual(Array(8).fill(200));
    expect([(await ask('/api/search')).status, (await ask(ENTITY)).status]).toEqual([200, 200]);
  });

  test('answers what it knows by itself', async () => {
    await keepBusy('/api/search', 6);
    await keepBusy(ENTITY, 2);
    const paths = ['/', '/api/ping', '/api/openapi.json', '/api/vocabularies/languages'];
    const answers = await Promise.all(paths.map((path) => gateway.fetch(path)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await gateway.fetch(ENTITY, { method: 'OPTIONS' })).status).toBe(200);
  });

  test('refuses service calls about uploads too, by 423 where clients treat other statuses as final', async () => {
    await keepBusy('/api/search', 6);
    await keepBusy(ENTITY, 2);
    const uploads = `${ENTITY}/draft/files/data.csv/tus`;
    expect(await ask(uploads, { method: 'OPTIONS' })).toMatchObject({ status: 503, code: 'overloaded' });
    const head = await gateway.fetch(`${uploads}/1`, { method: 'HEAD', token });
    expect([head.status, head.headers.get('retry-after')]).toEqual([423, '1']);
  });

  test('refuses without reading credentials or body', async () => {
    await keepBusy('/api/search', 6);
    // The announced body is never sent.
    const answer = await exchange(
      gateway.baseUrl,
      'POST /api/records HTTP/1.1\r\nhost: x\r\nauthorization: Bearer unknown-token\r\n' +
        'content-type: application/json\r\ncontent-length: 1000\r\nconnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 503 .*"code":"overloaded"/s);
  });

  test('releases slots while bodies arrive, and acquires them again afterwards', async () => {
    const changes = await Promise.all(Array.from({ length: 6 }, announceChange));
    const searches: Promise<unknown>[] = [];
    await until(() => {
      // Some are refused while the credentials of the changes are looked up.
      if (inProgress < 6) searches.push(ask('/api/search'));
      return inProgress === 6;
    });
    const refused = await Promise.all(changes.map(({ send }) => send()));
    expect(refused).toEqual(Array(6).fill([503, 'overloaded']));
    letGo();
    await Promise.all(searches);
  });

  test('counts files that move by themselves', async () => {
    const moving: (() => void)[] = [];
    gateway.script.content = (_request, response) => void moving.push(() => response.writeHead(404).end());
    gateway.script.records.ReadEntities = async ({ refs }) => ({
      results: refs.map((ref) => ({ ref, document: aDocument({ form: 'FORM_PUBLISHED' }) })),
    });
    gateway.script.records.Authorise = async () => ({
      ticket: 'a ticket',
      filesEnabled: true,
    });
    const path = `${ENTITY}/files/data.csv/content`;
    const first = [gateway.fetch(path), gateway.fetch(path)];
    await until(() => moving.length === 2);
    expect(await ask(path)).toMatchObject({
      code: 'overloaded',
      message: 'Too many file transfers are running. The request was not processed; retry in 1 s.',
    });
    expect((await ask(ENTITY)).status).toBe(200);
    for (const end of moving) end();
    await Promise.all(first);
    const again = gateway.fetch(path);
    await until(() => moving.length === 3);
    moving[2]?.();
    await again;
  });
});
