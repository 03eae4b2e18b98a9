import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Uploads } from './uploader.ts';

/** Starts uploads in a separate process; the returned function ends them and returns their number. */
export async function startUploads(uploads: Uploads): Promise<() => Promise<number>> {
  const child = fork(fileURLToPath(new URL('./uploader.ts', import.meta.url)));
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the uploads have ended with ${code}`);
  });
  // The error is handled by the receiver of a message.
  ended.catch(() => {});
  const told = () => Promise.race([once(child, 'message').then(([message]) => message), ended]);
  child.send(uploads);
  await told();
  return async () => {
    const count = told();
    child.send('end');
    return Number(await count);
  };
}
