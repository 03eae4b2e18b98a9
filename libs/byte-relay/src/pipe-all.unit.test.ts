import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { pipeAll } from './pipe-all.ts';
import { release } from './release.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function requested(answer: (response: ServerResponse) => void): Promise<IncomingMessage> {
  const server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const request = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false });
  const [incoming] = await once(request, 'response');
  return incoming as IncomingMessage;
}

/** Chunks with separate memory. The test keeps references to them. */
function chunks(count: number, bytes = 100_000): Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.allocUnsafeSlow(bytes).fill(index));
}

test('all chunks arrive unchanged, and the memory of each is released', async () => {
  const sent = chunks(50);
  const expected = Buffer.concat(sent);
  let relayed: Promise<void> | undefined;
  const incoming = await requested((response) => {
    relayed = pipeAll(Readable.from(sent), response);
  });
  expect((await buffer(incoming)).equals(expected)).toBe(true);
  await relayed;
  expect(sent.map(({ byteLength }) => byteLength)).toEqual(sent.map(() => 0));
});

test('a chunk that is part of a larger buffer is not released', () => {
  const whole = Buffer.alloc(10, 'x');
  release(whole.subarray(2));
  expect(String(whole)).toBe('xxxxxxxxxx');
});

test('an error of the source aborts the response, which never looks complete', async () => {
  let relayed: Promise<void> | undefined;
  const incoming = await requested((response) => {
    const source = new PassThrough();
    source.write('some');
    relayed = pipeAll(source, response);
    relayed.catch(() => {});
    setImmediate(() => source.destroy(new Error('the disk broke')));
  });
  await expect(buffer(incoming)).rejects.toThrow('aborted');
  await expect(relayed).rejects.toThrow('the disk broke');
});

test('a disconnected reader ends the source, and so does the signal', async () => {
  const source = new PassThrough();
  const [first, second] = [new PassThrough(), new PassThrough()];
  const broken = pipeAll(source, first);
  first.destroy();
  await expect(broken).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
  expect(source.destroyed).toBe(true);

  const aborting = new AbortController();
  const endless = new PassThrough();
  const aborted = pipeAll(endless, second, { signal: aborting.signal });
  aborting.abort();
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
  expect([endless.destroyed, second.destroyed]).toEqual([true, true]);
});
