import { open } from 'node:fs/promises';
import type { Writable } from 'node:stream';

const BUFFER_BYTES = 1_048_576;

/** Sends a part of a file out of two buffers, one read while the other is on its way: a client that costs little itself. */
export async function sendFile(
  path: string,
  { start, bytes }: { start: number; bytes: number },
  target: Writable,
): Promise<void> {
  const file = await open(path, 'r');
  const buffers = [Buffer.allocUnsafeSlow(BUFFER_BYTES), Buffer.allocUnsafeSlow(BUFFER_BYTES)] as const;
  let sending: Promise<void> = Promise.resolve();
  try {
    for (let sent = 0, turn = 0; sent < bytes; turn = 1 - turn) {
      const buffer = buffers[turn === 0 ? 0 : 1];
      const { bytesRead } = await file.read(buffer, 0, Math.min(BUFFER_BYTES, bytes - sent), start + sent);
      if (bytesRead === 0) throw new Error(`${path} has fewer bytes than it had`);
      await sending;
      sending = written(target, buffer.subarray(0, bytesRead));
      // The error is handled where it is awaited, after the next read.
      sending.catch(() => {});
      sent += bytesRead;
    }
    await sending;
  } finally {
    await file.close();
  }
  target.end();
}

function written(target: Writable, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    target.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
