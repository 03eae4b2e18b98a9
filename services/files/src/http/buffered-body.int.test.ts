import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { bufferedBody, CHUNK_BYTES, type ChunkBuffers, chunkBuffers } from './body.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function sending(): Promise<{ outgoing: ClientRequest; incoming: IncomingMessage }> {
  const server = createServer().listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const outgoing = request({ host: '127.0.0.1', port, method: 'PUT', agent: false });
  outgoing.on('error', () => {}).flushHeaders();
  const [incoming] = await once(server, 'request');
  return { outgoing, incoming };
}

/** Buffers of which none may be in use twice. */
function watchedBuffers(): ChunkBuffers & { inUse(): number; most(): number } {
  const buffers = chunkBuffers();
  const used = new Set<Uint8Array>();
  let most = 0;
  return {
    acquire: () => {
      const buffer = buffers.acquire();
      expect(used.has(buffer)).toBe(false);
      used.add(buffer);
      most = Math.max(most, used.size);
      return buffer;
    },
    release: (buffer) => {
      expect(used.delete(buffer)).toBe(true);
      buffers.release(buffer.fill(0));
    },
    inUse: () => used.size,
    most: () => most,
  };
}

const READER = { admit: async () => {}, hash: { update: async () => {} } };
const PATIENT = { ...READER, progress: { idleMs: 60_000, minBytesPerSecond: 1 }, onStall: () => {} };

test('the chunks are the received bytes, in few buffers even for a slow reader, and all are returned', async () => {
  const sent = randomBytes(20 * CHUNK_BYTES + 12_345);
  const { outgoing, incoming } = await sending();
  const buffers = watchedBuffers();
  outgoing.end(sent);
  const come: Buffer[] = [];
  for await (const chunk of bufferedBody(incoming, { buffers, ...PATIENT })) {
    come.push(Buffer.from(chunk));
    await new Promise(setImmediate);
  }
  expect(come.slice(0, -1).every(({ length }) => length === CHUNK_BYTES)).toBe(true);
  expect(Buffer.concat(come).equals(sent)).toBe(true);
  expect(buffers.most()).toBeLessThanOrEqual(6);
  expect(buffers.inUse()).toBe(0);
});

test('a slow hash reads the received bytes, two chunks behind the reader, before their buffers are used again', async () => {
  const sent = randomBytes(20 * CHUNK_BYTES + 12_345);
  const { outgoing, incoming } = await sending();
  const buffers = watchedBuffers();
  outgoing.end(sent);
  const hash = createHash('md5');
  let [yielded, hashed, furthest] = [0, 0, 0];
  let before = Promise.resolve();
  const update = (chunk: Uint8Array) => {
    yielded += 1;
    before = before.then(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      hash.update(chunk);
      hashed += 1;
    });
    return before;
  };
  for await (const _ of bufferedBody(incoming, { ...PATIENT, buffers, hash: { update } }))
    furthest = Math.max(furthest, yielded - hashed);
  expect([furthest, hashed]).toEqual([3, yielded]);
  expect(hash.digest('hex')).toBe(createHash('md5').update(sent).digest('hex'));
  expect(buffers.inUse()).toBe(0);
});

test.each(['admit', 'hash'])('an error of %s ends the body, and all buffers are returned', async (name) => {
  const { outgoing, incoming } = await sending();
  const buffers = watchedBuffers();
  outgoing.write(randomBytes(6 * CHUNK_BYTES));
  let count = 0;
  const failing = async () => {
    count += 1;
    if (count === 2) throw new Error('no more');
  };
  const reader = name === 'admit' ? { ...READER, admit: failing } : { ...READER, hash: { update: failing } };
  const reading = (async () => {
    for await (const _ of bufferedBody(incoming, { ...PATIENT, ...reader, buffers }));
  })();
  await expect(reading).rejects.toThrow('no more');
  expect(buffers.inUse()).toBe(0);
});

test('bytes received before the client disconnected are yielded first', async () => {
  const sent = randomBytes(CHUNK_BYTES + 1_000);
  const { outgoing, incoming } = await sending();
  const come: Buffer[] = [];
  const reading = (async () => {
    for await (const chunk of bufferedBody(incoming, { buffers: watchedBuffers(), ...PATIENT }))
      come.push(Buffer.from(chunk));
  })();
  reading.catch(() => {});
  outgoing.write(sent, () => void until(() => come.length === 1).then(() => outgoing.destroy()));
  await expect(reading).rejects.toThrow();
  // The last bytes may not have left the client.
  const whole = Buffer.concat(come);
  expect(whole.length).toBeGreaterThanOrEqual(CHUNK_BYTES);
  expect(whole.equals(sent.subarray(0, whole.length))).toBe(true);
});

const HURRIED = { idleMs: 20, minBytesPerSecond: 1 };

async function watched() {
  const { outgoing, incoming } = await sending();
  const counts = { stalls: 0 };
  const onStall = () => {
    counts.stalls += 1;
  };
  const body = bufferedBody(incoming, { ...READER, buffers: chunkBuffers(), progress: HURRIED, onStall });
  return { outgoing, incoming, counts, body, first: body.next() };
}

/** The time that several silent clients need one after the other until each is reported. */
async function severalStalls() {
  for (let count = 0; count < 4; count += 1) {
    const silent = await watched();
    await until(() => silent.counts.stalls > 0);
    silent.incoming.destroy();
    await expect(silent.first).rejects.toThrow();
  }
}

test('a silent client is reported once', async () => {
  const silent = await watched();
  await severalStalls();
  expect(silent.counts.stalls).toBe(1);
  silent.incoming.destroy();
  await expect(silent.first).rejects.toThrow();
});

test('a reader that takes nothing is no stall of its client', async () => {
  const unread = await watched();
  unread.outgoing.write(randomBytes(8 * CHUNK_BYTES));
  expect((await unread.first).value).toHaveLength(CHUNK_BYTES);
  await until(() => unread.incoming.isPaused());
  unread.counts.stalls = 0;
  await severalStalls();
  expect(unread.counts.stalls).toBe(0);
  await unread.body.return(undefined);
});

test.each(['ended', 'aborted'])(
  'a body that has %s does not stall, however slow its reader is',
  async (how) => {
    const { outgoing, incoming, counts, body, first } = await watched();
    if (how === 'ended') outgoing.end(randomBytes(CHUNK_BYTES + 1));
    else outgoing.write(randomBytes(CHUNK_BYTES + 1));
    expect((await first).value).toHaveLength(CHUNK_BYTES);
    if (how === 'aborted') outgoing.destroy();
    await until(() => incoming.readableEnded || incoming.destroyed);
    counts.stalls = 0;
    await severalStalls();
    expect(counts.stalls).toBe(0);
    await body.return(undefined);
  },
);
