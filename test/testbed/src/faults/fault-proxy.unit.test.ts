import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../until.ts';
import type { Fault } from './fault.ts';
import { FaultProxy } from './fault-proxy.ts';

/** A server that stores received bytes and sends only the replies that the test gives it. */
interface Peer {
  address: string;
  listener: Server;
  sockets: Socket[];
  received: Buffer[];
  ended: number;
  failed: string[];
  isReading: boolean;
}

async function startPeer(): Promise<Peer> {
  const peer: Peer = {
    address: '',
    listener: createServer({ allowHalfOpen: true }),
    sockets: [],
    received: [],
    ended: 0,
    failed: [],
    isReading: true,
  };
  peer.listener.on('connection', (socket) => {
    peer.sockets.push(socket);
    if (peer.isReading) socket.on('data', (bytes) => peer.received.push(bytes));
    socket.on('end', () => {
      peer.ended += 1;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => peer.failed.push(error.code ?? ''));
  });
  await new Promise<void>((resolve) => peer.listener.listen(0, '127.0.0.1', resolve));
  peer.address = `127.0.0.1:${(peer.listener.address() as AddressInfo).port}`;
  return peer;
}

/** A client that keeps what it receives. */
interface Client {
  socket: Socket;
  received(): string;
  ending(): string | undefined;
}

const clients: Client[] = [];

async function dial(address: string): Promise<Client> {
  const [host, port] = address.split(':');
  const socket = connect({ host: host ?? '', port: Number(port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let ending: string | undefined;
  socket.on('data', (bytes) => chunks.push(bytes));
  socket.on('end', () => {
    ending ??= 'end';
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    ending ??= error.code ?? 'error';
  });
  await new Promise((resolve) => socket.once('connect', resolve).once('error', resolve));
  const client = { socket, received: () => Buffer.concat(chunks).toString(), ending: () => ending };
  clients.push(client);
  return client;
}

let peer: Peer;
let proxy: FaultProxy;
beforeEach(async () => {
  peer = await startPeer();
  proxy = await FaultProxy.start(peer.address, { name: 'line', random: () => 0.5 });
});
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await proxy.stop();
  for (const socket of peer.sockets) socket.destroy();
  await new Promise((resolve) => peer.listener.close(resolve));
});

const atServer = () => Buffer.concat(peer.received).toString();
const talking = async (): Promise<{ client: Client; server: Socket }> => {
  const before = peer.sockets.length;
  const client = await dial(proxy.address);
  const server = await until(() => peer.sockets[before]);
  return { client, server };
};
const exchanged = async ({ client, server }: { client: Client; server: Socket }, word: string) => {
  const [before, after] = [atServer(), client.received()];
  client.socket.write(word);
  await until(() => atServer() === before + word);
  server.write(word.toUpperCase());
  await until(() => client.received() === after + word.toUpperCase());
};

describe('a proxy without faults', () => {
  test('carries bytes both ways, and each half of a connection ends by itself', async () => {
    const { client, server } = await talking();
    await exchanged({ client, server }, 'hello');
    client.socket.end('last');
    await until(() => peer.ended === 1);
    server.end('after the end');
    await until(() => client.ending() === 'end');
    expect([atServer(), client.received()]).toEqual(['hellolast', 'HELLOafter the end']);
    await until(() => proxy.connections === 0);
  });

  test('forwards a reset', async () => {
    const { client, server } = await talking();
    await exchanged({ client, server }, 'hello');
    server.resetAndDestroy();
    await until(() => client.ending() === 'ECONNRESET');
    await until(() => proxy.connections === 0);
  });

  test('resets a client whose server is not there', async () => {
    await new Promise((resolve) => peer.listener.close(resolve));
    const client = await dial(proxy.address);
    await until(() => client.ending() === 'ECONNRESET');
    await until(() => proxy.connections === 0);
  });

  test('lets a sender wait for a receiver that does not read, and loses nothing', async () => {
    peer.isReading = false;
    const { client, server } = await talking();
    const piece = Buffer.alloc(64 * 1024, 'x');
    const pieces = 1_000;
    let sent = 0;
    const sending = (async () => {
      for (; sent < pieces; sent += 1) {
        if (!client.socket.write(piece)) await new Promise((resolve) => client.socket.once('drain', resolve));
      }
      client.socket.end();
    })();
    // Once the buffers of kernel and proxy are full, not a byte more is taken.
    let before = -1;
    const hasStalled = () => {
      const isSame = sent > 0 && sent === before;
      before = sent;
      return isSame;
    };
    await until(hasStalled, { everyMs: 200 });
    const accepted = sent;
    let received = 0;
    server.on('data', (bytes) => {
      received += bytes.length;
    });
    await sending;
    await until(() => peer.ended === 1);
    expect({ waited: accepted < pieces, received }).toEqual({
      waited: true,
      received: pieces * piece.length,
    });
  });
});

describe('latency', () => {
  test('delays one direction or both, keeps the order, and ends', async () => {
    const talk = await talking();
    const end = proxy.inflict({ kind: 'latency', ms: 80, jitterMs: 40, direction: 'to server' });
    const began = performance.now();
    talk.client.socket.write('a');
    talk.client.socket.write('b');
    await until(() => atServer() === 'ab', { everyMs: 1 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(99);
    end();
    await exchanged(talk, 'quick');
    expect(proxy.log.lines().map((line) => line.replace(/^\+\d+ ms /, ''))).toEqual([
      'line: latency 80 ms + up to 40 ms to server',
      'line: end of latency 80 ms + up to 40 ms to server',
    ]);
  });

  test('does not reduce bandwidth', async () => {
    const { client, server } = await talking();
    proxy.inflict({ kind: 'latency', ms: 100 });
    const sent = Buffer.alloc(5_000_000, 'z');
    server.end(sent);
    await until(() => client.ending() === 'end');
    expect(client.received().length).toBe(sent.length);
  });
});

test('bandwidth limits the transfer rate', async () => {
  const { client, server } = await talking();
  proxy.inflict({ kind: 'bandwidth', bytesPerSecond: 100_000, direction: 'to client' });
  const began = performance.now();
  server.end(Buffer.alloc(30_000, 'z'));
  await until(() => client.ending() === 'end');
  expect(client.received().length).toBe(30_000);
  expect(performance.now() - began).toBeGreaterThanOrEqual(270);
});

describe('a black hole', () => {
  const hole: Fault = { kind: 'black hole' };

  test('swallows bytes silently; connections that lost bytes are reset when it ends, the others live', async () => {
    const [hit, idle] = [await talking(), await talking()];
    const end = proxy.inflict(hole);
    hit.client.socket.write('lost');
    hit.server.write('lost too');
    const later = await talking();
    later.client.socket.write('lost as well');
    await until(() => proxy.swallowedBytes === 'lostlost toolost as well'.length);
    expect([atServer(), hit.client.received(), hit.client.ending()]).toEqual(['', '', undefined]);
    end();
    await until(() => hit.client.ending() === 'ECONNRESET' && later.client.ending() === 'ECONNRESET');
    await until(() => peer.failed.length === 2);
    await exchanged(idle, 'alive');
    expect(atServer()).toBe('alive');
  });

  test('leaves a half-open connection: the server is not notified of the end of its client', async () => {
    const { client, server } = await talking();
    const end = proxy.inflict(hole);
    client.socket.resetAndDestroy();
    server.write('are you there?');
    await until(() => proxy.swallowedBytes > 0);
    expect({
      open: proxy.connections,
      ended: peer.ended,
      failed: peer.failed,
      gone: server.destroyed,
    }).toEqual({
      open: 1,
      ended: 0,
      failed: [],
      gone: false,
    });
    end();
    await until(() => peer.failed.includes('ECONNRESET'));
    await until(() => proxy.connections === 0);
  });

  test('in one direction leaves the other intact', async () => {
    const { client, server } = await talking();
    proxy.inflict({ kind: 'black hole', direction: 'to client' });
    client.socket.write('first');
    await until(() => atServer() === 'first');
    server.write('answered');
    await until(() => proxy.swallowedBytes > 0);
    client.socket.write(' second');
    await until(() => atServer() === 'first second');
    expect(client.received()).toBe('');
  });
});

test('a reset breaks open connections on both sides; new connections live', async () => {
  const { client } = await talking();
  proxy.reset();
  await until(() => client.ending() === 'ECONNRESET' && peer.failed.includes('ECONNRESET'));
  await until(() => proxy.connections === 0);
  await exchanged(await talking(), 'again');
});

test('refusing resets new connections and leaves the others', async () => {
  const old = await talking();
  const end = proxy.inflict({ kind: 'refuse' });
  const refused = await dial(proxy.address);
  await until(() => refused.ending() === 'ECONNRESET');
  await exchanged(old, 'still');
  end();
  await exchanged(await talking(), 'again');
});

describe('a cut', () => {
  test('forwards the given number of bytes of a reply, on the first connection with a matching request', async () => {
    const [other, meant] = [await talking(), await talking()];
    proxy.cutNext({ direction: 'to client', afterBytes: 3, when: (bytes) => bytes.includes('COMMIT') });
    await exchanged(other, 'begin');
    await exchanged(meant, 'begin');
    meant.client.socket.write('COMMIT');
    await until(() => atServer().endsWith('COMMIT'));
    meant.server.write('committed');
    await until(() => meant.client.ending() === 'ECONNRESET');
    expect([meant.client.received(), proxy.cuts]).toEqual(['BEGINcom', 1]);
    await exchanged(other, 'COMMIT');
    expect(proxy.cuts).toBe(1);
  });

  test('counts over several chunks, and may happen before the whole request is forwarded', async () => {
    const first = await talking();
    proxy.cutNext({ direction: 'to client', afterBytes: 5 });
    first.server.write('ab');
    await until(() => first.client.received() === 'ab');
    first.server.write('cdefg');
    await until(() => first.client.ending() === 'ECONNRESET');
    expect(first.client.received()).toBe('abcde');

    const second = await talking();
    proxy.cutNext({ direction: 'to server', afterBytes: 0, when: (bytes) => bytes.includes('COMMIT') });
    second.client.socket.write('COMMIT');
    await until(() => second.client.ending() === 'ECONNRESET');
    expect(atServer()).toBe('');
  });
});

test('a cancelled cut does not happen', async () => {
  const talk = await talking();
  proxy.cutNext({ direction: 'to client', afterBytes: 0 })();
  await exchanged(talk, 'hello');
  expect(proxy.cuts).toBe(0);
});

test('closed connections leave nothing behind, under any fault', async () => {
  peer.listener.on('connection', (socket) => socket.on('end', () => socket.end()));
  const faults: Fault[] = [
    { kind: 'latency', ms: 20 },
    { kind: 'bandwidth', bytesPerSecond: 1_000 },
    { kind: 'black hole' },
    { kind: 'refuse' },
  ];
  for (const fault of faults) {
    const talks = await Promise.all([dial(proxy.address), dial(proxy.address)]);
    const end = proxy.inflict(fault);
    const late = await dial(proxy.address);
    for (const { socket } of [...talks, late]) {
      socket.write('some bytes');
      socket.destroy();
    }
    end();
  }
  await until(() => proxy.connections === 0);
  const isClosed = (socket: Socket) => socket.readableEnded || socket.destroyed;
  await until(() => peer.sockets.every(isClosed));
});
