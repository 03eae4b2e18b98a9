import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type FilesUnderTest, startFilesUnderTest } from '../testing/files-under-test.ts';

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest({
    progress: { idleMs: 1_000, minBytesPerSecond: 1_000 },
    minDownloadBytesPerSecond: 10_000_000,
  });
  await files.upload('steady-0001', 'a.txt', 'here');
});
afterAll(() => files.stop());

const open: Socket[] = [];
afterAll(() => {
  for (const socket of open) socket.destroy();
});

async function opened(): Promise<Socket> {
  const socket = connect(files.service.contentPort, '127.0.0.1');
  open.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** A socket whose closing by the other side is observed; received bytes are kept. */
function received(socket: Socket): { text: string; isClosed: boolean } {
  const state = { text: '', isClosed: false };
  socket.on('data', (chunk: Buffer) => {
    state.text += chunk;
  });
  socket.once('close', () => {
    state.isClosed = true;
  });
  return state;
}

describe('a client', () => {
  test('that sends its file a byte at a time gets the error that this is too slow', async () => {
    await files.start('drip-000001', 'a.bin');
    const { request, answer } = files.openPut('drip-000001', 'a.bin', { 'content-length': '1000000' });
    request.on('error', () => {});
    const drip = setInterval(() => request.write('x'), 50);
    const { status, body } = await answer;
    clearInterval(drip);
    request.destroy();
    expect([status, JSON.parse(String(body)).message]).toEqual([408, 'The upload made no progress.']);
    await until(async () => (await files.storedFiles()).tmp.length === 0);
    await until(async () => (await files.sql.query('select 1 from reservation')).rowCount === 0);
  });

  test('that reads its file in trickles is cut off', async () => {
    // More than the system keeps for it.
    await files.upload('trickle-001', 'a.bin', Buffer.alloc(50_000_000));
    const socket = (await opened()).pause();
    const ticket = files.ticket('trickle-001');
    socket.write(`GET /content/trickle-001/a.bin HTTP/1.1\r\nhost: x\r\nkr-ticket: ${ticket}\r\n\r\n`);
    await until(() => {
      socket.read();
      return socket.destroyed;
    });
    expect(socket.bytesRead).toBeLessThan(50_000_000);
  });

  test('that sends its head a byte at a time is cut off', async () => {
    const socket = await opened();
    const state = received(socket);
    socket.write('GET /content/steady-0001/a.txt HTTP/1.1\r\nhost: x\r\n');
    const drip = setInterval(() => socket.writable && socket.write('x'), 500);
    await until(async () => state.isClosed);
    clearInterval(drip);
    expect(state.text).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('is answered beside two thousand that are idle, and these are not kept', async () => {
    const idle: { isClosed: boolean }[] = [];
    for (let group = 0; group < 20; group += 1) {
      const open = async (_: unknown, index: number) => {
        const socket = await opened();
        // From the first moment on: on a busy machine it is closed before all the others are open.
        idle.push(received(socket));
        // Half of them send nothing at all, the others the start of a request.
        if (index % 2 === 0) socket.write('PUT /content/a/b HTTP/1.1\r\nhost: x\r\n');
      };
      await Promise.all(Array.from({ length: 100 }, open));
    }
    const answer = await files.get('steady-0001', 'a.txt');
    expect([idle.length, answer.status, String(answer.body)]).toEqual([2_000, 200, 'here']);
    await until(async () => idle.every(({ isClosed }) => isClosed));
    expect((await files.get('steady-0001', 'a.txt')).status).toBe(200);
  });
});
