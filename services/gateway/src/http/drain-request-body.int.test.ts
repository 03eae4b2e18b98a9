import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const LENGTH = 2_000_000;

let gateway: GatewayUnderTest;
let token: string;
beforeAll(async () => {
  gateway = await startGateway({}, { limits: { bodyTimeoutMs: 2_000 } });
  ({ token } = await gateway.createUser('ada'));
  gateway.script.records = { Authorise: async () => ({ ticket: 'a ticket', filesEnabled: true }) };
  gateway.script.content = (_request, response) => void response.writeHead(408).end();
});
afterAll(() => gateway.stop());

const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

/** A request without its body, and everything that is received. */
async function start(head: string): Promise<{ socket: Socket; received: () => string }> {
  const { hostname, port } = new URL(gateway.baseUrl);
  const socket = connect(Number(port), hostname);
  open.push(socket);
  let received = '';
  socket
    .on('error', () => {})
    .on('data', (bytes: Buffer) => {
      received += bytes;
    });
  await once(socket, 'connect');
  socket.write(`${head}\r\nhost: h\r\ncontent-length: ${LENGTH}\r\n\r\n`);
  return { socket, received: () => received };
}

const CREATE = 'POST /api/records HTTP/1.1';
const upload = (method: string, face: string) =>
  `${method} /api/records/e7vvn-90a62/draft/files/a/${face} HTTP/1.1\r\nauthorization: Bearer ${token}\r\n` +
  'tus-resumable: 1.0.0\r\nupload-offset: 0\r\n' +
  `content-type: application/${method === 'PUT' ? 'octet-stream' : 'offset+octet-stream'}`;

test.each<[string, () => string, number]>([
  ['a document', () => CREATE, 401],
  ['a file', () => upload('PUT', 'content'), 408],
  ['a chunk', () => upload('PATCH', 'tus/1'), 408],
])('who goes on with %s a byte at a time after the answer is cut off', async (_what, head, status) => {
  const { socket, received } = await start(head());
  const drip = setInterval(() => socket.writable && socket.write('x'), 100);
  try {
    await until(() => socket.destroyed);
  } finally {
    clearInterval(drip);
  }
  expect(received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test('a client that sends fast enough may reuse the connection', async () => {
  const isAnsweredAgain = async () => {
    const { socket, received } = await start(CREATE);
    const hears = (status: number) =>
      until(() => socket.destroyed || received().includes(`HTTP/1.1 ${status} `));
    await hears(401);
    // Longer than two checks of the progress.
    let left = LENGTH;
    const sending = setInterval(() => {
      left -= LENGTH / 50;
      socket.write(Buffer.alloc(LENGTH / 50));
      if (left === 0) clearInterval(sending);
    }, 100);
    try {
      await until(() => socket.destroyed || left === 0);
    } finally {
      clearInterval(sending);
    }
    if (socket.destroyed) return false;
    socket.write('GET /api/ping HTTP/1.1\r\nhost: h\r\n\r\n');
    await hears(200);
    return received().includes('HTTP/1.1 200 ');
  };
  // On a loaded machine a pause may be long enough to count as too slow.
  await until(isAnsweredAgain, { timeoutMs: 240_000 });
});
