import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const FILE = '/api/records/e7vvn-90a62/files/a/content';
const DRAFT = '/api/records/e7vvn-90a62/draft/files/a';

let gateway: GatewayUnderTest;
let token: string;

beforeAll(async () => {
  gateway = await startGateway();
  ({ token } = await gateway.createUser('ada'));
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.script.records = { Authorise: async () => ({ ticket: 'a ticket', filesEnabled: true }) };
});

test('three hundred slow downloads delay no other request', async () => {
  const pending: ServerResponse[] = [];
  gateway.script.content = (_request, response) => void pending.push(response);
  const answered: (number | undefined)[] = [];
  // As many of each user as a user may have.
  const users = await Promise.all(
    Array.from({ length: 6 }, (_, number) => gateway.createUser(`reader-${number}`)),
  );
  for (let count = 0; count < 300; count += 1) {
    const headers = { authorization: `Bearer ${users[count % 6]?.token}` };
    request(`${gateway.baseUrl}${FILE}`, { agent: false, headers }, (answer) => {
      answered.push(answer.resume().statusCode);
    }).end();
  }
  await until(() => pending.length === 300);
  for (const response of pending) response.end('hello');
  await until(() => answered.length === 300);
  expect(new Set(answered)).toEqual(new Set([200]));
});

test.each([
  ['a download', 'GET', FILE],
  ['reading an upload', 'HEAD', `${DRAFT}/tus/1`],
])('%s ends where its client goes away', async (_what, method, path) => {
  let isOpen: boolean | undefined;
  gateway.script.content = (_request, response) => {
    isOpen = true;
    response.once('close', () => {
      isOpen = false;
    });
  };
  const headers = { authorization: `Bearer ${token}` };
  const sent = request(`${gateway.baseUrl}${path}`, { agent: false, method, headers });
  sent.on('error', () => {}).end();
  await until(() => isOpen === true);
  sent.destroy();
  await until(() => isOpen === false);
});

test('a creation is not repeated when the answer is lost', async () => {
  const sent: string[] = [];
  gateway.script.content = (incoming, response) => {
    sent.push(String(incoming.method));
    if (incoming.method === 'POST') incoming.socket.destroy();
    else response.end('hello');
  };
  // It leaves a connection behind that could be taken.
  expect(await (await gateway.fetch(FILE)).text()).toBe('hello');
  const headers = { 'tus-resumable': '1.0.0', 'upload-length': '5' };
  const { status } = await gateway.fetch(`${DRAFT}/tus`, { method: 'POST', token, headers });
  expect([status, sent]).toEqual([503, ['GET', 'POST']]);
});

test('an upload whose answer is aborted is unavailable, not an internal error', async () => {
  gateway.script.content = (incoming, response) => {
    incoming.resume();
    response.writeHead(200, { 'content-length': 1_000 }).write('{', () => response.destroy());
  };
  const response = await gateway.fetch(`${DRAFT}/content`, { method: 'PUT', token, body: Buffer.from('x') });
  expect([response.status, await response.json()]).toEqual([
    503,
    { status: 503, message: 'The files service is not available.', code: 'unavailable' },
  ]);
});

const onLinux = process.platform === 'linux' ? test : test.skip;
onLinux.each(['GET', 'PUT'])('a connection for %s is probed while nothing passes', async (method) => {
  let exchange: { incoming: IncomingMessage; response: ServerResponse } | undefined;
  gateway.script.content = (incoming, response) => {
    exchange = { incoming, response };
  };
  const sent = request(`${gateway.baseUrl}${method === 'GET' ? FILE : `${DRAFT}/content`}`, {
    agent: false,
    method,
    headers: { authorization: `Bearer ${token}`, ...(method === 'PUT' ? { 'content-length': 6 } : {}) },
  });
  sent.on('error', () => {}).flushHeaders();
  if (method === 'GET') sent.end();
  await until(() => exchange !== undefined);
  const { remotePort = 0, localPort = 0 } = exchange?.incoming.socket ?? {};
  await until(async () => (await timerOf(remotePort, localPort)) === KEEPALIVE);
  sent.destroy();
});

/** The kernel's timer of a connection between two ports of this machine (proc_pid_net(5), `tr`). */
const KEEPALIVE = '02';

async function timerOf(localPort: number, remotePort: number): Promise<string | undefined> {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  const line = lines.find(
    ([, local = '', remote = '']) =>
      local.endsWith(`:${hex(localPort)}`) && remote.endsWith(`:${hex(remotePort)}`),
  );
  return line?.[5]?.split(':')[0];
}
