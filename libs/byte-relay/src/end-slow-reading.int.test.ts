import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { endSlowReading } from './end-slow-reading.ts';
import { pipeAll } from './pipe-all.ts';

const CHUNK = 65_536;
/** More than the system keeps for a reader who does not read. */
const CHUNKS = 1_000;

let server: Server;
let slow: number;
let ended: number;
const clients: Socket[] = [];
beforeEach(() => {
  // Fake timers advance only on request of the test.
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'Date', 'performance'],
  });
  [slow, ended] = [0, 0];
});
afterEach(() => {
  jest.useRealTimers();
  for (const client of clients.splice(0)) client.destroy();
  server.close().closeAllConnections();
});

const second = () => jest.advanceTimersByTime(1_000);

/** A client that has sent requests and does not read yet. The server answers each with `answer`. */
async function requested(answer: (response: ServerResponse) => void, times = 1): Promise<Socket> {
  server = createServer((_request, response) => {
    endSlowReading(response, {
      minBytesPerSecond: CHUNK,
      onSlow: () => {
        slow += 1;
      },
    });
    answer(response);
  });
  server.timeout = 50;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  clients.push(client.pause());
  client.write('GET / HTTP/1.1\r\nhost: h\r\n\r\n'.repeat(times));
  await once(server, 'request');
  return client;
}

function sendMuch(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': CHUNKS * CHUNK });
  const bytes = Readable.from(Array.from({ length: CHUNKS }, () => Buffer.allocUnsafeSlow(CHUNK)));
  pipeAll(bytes, response).catch(() => {
    ended += 1;
  });
}

test('who reads nothing is cut off, and so are the answers behind the one that he does not read', async () => {
  const client = await requested(sendMuch, 3);
  const isClosed = once(client, 'close');
  await until(() => {
    second();
    return slow > 0;
  });
  client.resume();
  await isClosed;
  await until(() => ended === 3);
});

test('a reader at the minimum rate is not disconnected, although acknowledgements arrive in bursts', async () => {
  const client = await requested(sendMuch);
  for (let taken = 0; taken < CHUNKS * CHUNK && !client.destroyed; ) {
    const bytes = client.read(Math.min(CHUNK, client.readableLength)) as Buffer | null;
    taken += bytes?.length ?? 0;
    if (bytes === null) await Promise.race([once(client, 'readable'), once(client, 'close')]);
    // A second at each chunk that was taken, however many readings it took.
    else if (Math.floor(taken / CHUNK) > Math.floor((taken - bytes.length) / CHUNK)) {
      // On a busy machine the system reports acknowledged bytes late.
      await sleep(1);
      second();
    }
  }
  expect([slow, ended]).toEqual([0, 0]);
});

test('a reader that waits for bytes is not cut off, even after a long silence', async () => {
  const client = await requested((response) => {
    response.writeHead(200, { 'content-length': 10 }).write('12345');
    setTimeout(() => {
      for (let seconds = 0; seconds < 1_000; seconds += 1) second();
      response.end('67890');
    }, 200);
  });
  let heard = '';
  client.resume().on('data', (bytes: Buffer) => {
    heard += bytes;
  });
  await until(() => heard.endsWith('1234567890'));
  expect(slow).toBe(0);
});

test('watching stops when the response has ended or its client disconnected', async () => {
  await requested((response) => {
    response.req.socket.destroy();
    response.once('close', () => {
      endSlowReading(response, { minBytesPerSecond: CHUNK });
      ended += 1;
    });
  });
  await until(() => ended === 1);
  expect(jest.getTimerCount()).toBe(0);
});
