import { once } from 'node:events';
import { Agent, createServer, get, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Drain, openDrain } from './open-drain.ts';

let server: Server;
let drain: Drain;
let agent: Agent;
/** Answers that wait to be ended. */
let pending: ServerResponse[];
beforeEach(async () => {
  pending = [];
  server = createServer((_request, response) => void pending.push(response));
  drain = openDrain(server);
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  agent.destroy();
  server.closeAllConnections();
  server.close();
});

/** One request on the one keep-alive connection; returns the header Connection of the response. */
async function send(): Promise<string | undefined> {
  const { port } = server.address() as AddressInfo;
  const [response] = await once(get({ port, host: '127.0.0.1', agent }), 'response');
  response.resume();
  await once(response, 'end');
  return response.headers.connection;
}

async function pendingResponse(): Promise<ServerResponse> {
  if (pending.length === 0) await once(server, 'request');
  return pending.shift() as ServerResponse;
}

test('a running response completes and is marked as the last of its connection', async () => {
  const first = send();
  (await pendingResponse()).end('first');
  const second = send();
  const answer = await pendingResponse();
  const drained = drain(60_000);
  answer.end('second');
  expect([await first, await second]).toEqual(['keep-alive', 'close']);
  await drained;
});

test('idle keep-alive connections are closed at once', async () => {
  const first = send();
  (await pendingResponse()).end();
  await first;
  await drain(60_000);
});

test('a response that is still missing after the grace period is cut', async () => {
  const failure = send().catch((error: NodeJS.ErrnoException) => error.code);
  await pendingResponse();
  await drain(1);
  expect(await failure).toBe('ECONNRESET');
});
