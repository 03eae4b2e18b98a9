import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Connection } from './connection.ts';
import { conditionsOf } from './fault.ts';

let listener: Server;
const sockets: Socket[] = [];
beforeEach(async () => {
  listener = createServer({ allowHalfOpen: true });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => listener.close(resolve));
});

/** Both ends of a line. */
async function line(): Promise<{ near: Socket; far: Socket }> {
  const { port } = listener.address() as AddressInfo;
  const accepted = once(listener, 'connection') as Promise<[Socket]>;
  const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(far, 'connect');
  const [near] = await accepted;
  sockets.push(
    near,
    far.on('error', () => undefined),
  );
  return { near, far };
}

test('a connection is broken on both sides also in the moment in which one of them ends', async () => {
  const [client, server] = [await line(), await line()];
  const closed = [client.near, server.near].map((socket) => once(socket, 'close'));
  const connection = new Connection(client.near, server.near, {
    conditions: (direction) => conditionsOf(new Set(), direction),
    random: () => 0,
    awaitedCut: () => undefined,
    onCut: () => undefined,
    onSwallowed: () => undefined,
    onSent: () => undefined,
    onClosed: () => undefined,
  });
  // The end has been handed on, and has not left yet.
  client.near.once('end', () => connection.reset());
  client.far.end();
  await expect(Promise.all(closed)).resolves.toBeDefined();
});
