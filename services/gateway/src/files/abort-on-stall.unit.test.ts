import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { abortOnStall } from './content-client.ts';

let server: Server;
let sendRest: () => void;
beforeEach(async () => {
  server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': 10 });
    response.write('01234');
    sendRest = () => void response.end('56789');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => server.close().closeAllConnections());

/**
 * An answer of which this part arrived and was read, and which then stopped until the connection had been
 * silent for its time.
 */
async function silentAfter(count: 5 | 10): Promise<{ answer: IncomingMessage; heard: () => string }> {
  const outgoing = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  outgoing.on('error', () => {});
  abortOnStall(outgoing, { idleMs: 100, error: () => new Error('it was silent') });
  const [answer] = (await once(outgoing.end(), 'response')) as [IncomingMessage];
  let heard = '';
  const silence = once(answer.socket, 'timeout');
  answer
    .on('error', () => {})
    .on('data', (bytes: Buffer) => {
      heard += bytes;
      if (heard.length === count) answer.pause();
      else sendRest();
    });
  await silence;
  return { answer, heard: () => heard };
}

test('an answer that stops in the middle is aborted', async () => {
  const { answer, heard } = await silentAfter(5);
  expect([heard(), answer.errored?.message]).toEqual(['01234', 'it was silent']);
});

test('a complete answer may be read slowly', async () => {
  const { answer, heard } = await silentAfter(10);
  expect(answer.errored).toBe(null);
  await once(answer.resume(), 'end');
  expect(heard()).toBe('0123456789');
});
