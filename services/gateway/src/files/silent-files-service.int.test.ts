import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, type RequestListener, request } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as pass } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const IDLE_MS = 500;
const FILE = '/api/records/e7vvn-90a62/files/a/content';
const DRAFT = '/api/records/e7vvn-90a62/draft/files/a';
const STORED = {
  key: 'a',
  created: '2026-11-21T06:54:43.000001Z',
  updated: '2026-11-21T06:54:43.000002Z',
  status: 'pending',
  metadata: null,
};

let gateway: GatewayUnderTest;
let token: string;

// One slot, so that an unreleased one blocks the next request.
beforeAll(async () => {
  gateway = await startGateway({ MAX_TRANSFERS_IN_FLIGHT: '1' }, { limits: { filesIdleMs: IDLE_MS } });
  ({ token } = await gateway.createUser('ada'));
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.script.records = { Authorise: async () => ({ ticket: 'a ticket', filesEnabled: true }) };
});

/** Also on a machine so busy that the service seems to be silent now and then. */
async function expectPlace(): Promise<void> {
  gateway.script.content = (_request, response) => void response.end('hello');
  await until(async () => (await gateway.fetch(FILE)).status === 200);
}

describe('a files service that falls silent', () => {
  const unanswered: RequestListener = (incoming) => void incoming.resume();
  const unread: RequestListener = () => {};
  const brokenOff =
    (status: number): RequestListener =>
    (incoming, response) => {
      incoming.resume();
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': 1_000 }).write('{');
    };
  const SILENT = { status: 503, message: 'The files service made no progress for 500 ms.' };
  const some = Buffer.from('some');

  test.each<[string, string, string, Buffer | undefined, RequestListener, object]>([
    ['before it answers an upload', 'PUT', `${DRAFT}/content`, some, unanswered, SILENT],
    ['before it reads an upload', 'PUT', `${DRAFT}/content`, Buffer.alloc(30_000_000), unread, SILENT],
    ['while it answers an upload', 'PUT', `${DRAFT}/content`, some, brokenOff(200), SILENT],
    ['before it answers a chunk', 'PATCH', `${DRAFT}/tus/1`, some, unanswered, SILENT],
    ['before it ends an upload', 'DELETE', `${DRAFT}/tus/1`, undefined, unanswered, SILENT],
    ['before it returns an upload', 'HEAD', `${DRAFT}/tus/1`, undefined, unanswered, { status: 423 }],
    ['before it returns its options', 'OPTIONS', `${DRAFT}/tus`, undefined, unanswered, SILENT],
    ['before it sends a file', 'GET', FILE, undefined, unanswered, SILENT],
    [
      'while it refuses',
      'GET',
      FILE,
      undefined,
      brokenOff(409),
      { status: 409, message: 'The request was refused.' },
    ],
  ])('%s is aborted', async (_when, method, path, body, content, expected) => {
    await expectPlace();
    gateway.script.content = content;
    await until(async () => {
      const response = await gateway.fetch(path, { method, token, ...(body === undefined ? {} : { body }) });
      const answerText = await response.text();
      const { status, message } =
        answerText === '' ? { ...response, status: response.status } : JSON.parse(answerText);
      return JSON.stringify({ status, message }) === JSON.stringify(expected);
    });
    await expectPlace();
  });

  test('while it sends a file leaves half an answer, which never looks complete', async () => {
    gateway.script.content = brokenOff(200);
    await until(async () => {
      const response = await gateway.fetch(FILE);
      if (response.status !== 200) return false;
      await expect(response.text()).rejects.toThrow();
      return true;
    });
    await expectPlace();
  });

  test('is aborted when its client has disconnected too', async () => {
    let received = '';
    gateway.script.content = async (incoming) => {
      received = await text(incoming).catch(() => '');
    };
    const upload = put();
    upload.on('error', () => {}).end('abcdef');
    await until(() => received === 'abcdef');
    upload.destroy();
    await expectPlace();
  });
});

describe('a client that is slow', () => {
  test('to send is waited for', async () => {
    gateway.script.content = async (incoming, response) => {
      const received = await text(incoming).catch(() => 'half of it');
      response.writeHead(received === 'abcdef' ? 200 : 400).end(JSON.stringify(STORED));
    };
    await until(async () => {
      const upload = put();
      const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
      upload.write('abc');
      await pass(3 * IDLE_MS);
      upload.end('def');
      const [answer] = await answered;
      answer.resume();
      return answer.statusCode === 200;
    });
  });

  test('to read is waited for', async () => {
    const size = 30_000_000;
    gateway.script.content = (_asked, response) => void response.end(Buffer.alloc(size));
    await until(async () => {
      const download = request(`${gateway.baseUrl}${FILE}`, { agent: false }).end();
      const [answer] = (await once(download, 'response')) as [IncomingMessage];
      answer.pause();
      await pass(3 * IDLE_MS);
      return answer.statusCode === 200 && (await buffer(answer).catch(() => '')).length === size;
    });
  });
});

function put(): ClientRequest {
  return request(`${gateway.baseUrl}${DRAFT}/content`, {
    agent: false,
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-length': 6 },
  });
}
