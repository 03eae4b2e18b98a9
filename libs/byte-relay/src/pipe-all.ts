import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { pipeReleasing } from './pipe-releasing.ts';

/**
 * Forwards a whole stream to another, as `pipeReleasing` does. When either fails, or the signal is aborted, both are
 * destroyed, so that a partial transfer never looks complete.
 *
 * @throws the error that ended the transfer
 */
export async function pipeAll(
  from: Readable,
  to: Writable,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  const options = signal === undefined ? { cleanup: true } : { cleanup: true, signal };
  const both = Promise.all([
    finished(from, { ...options, writable: false }),
    finished(to, { ...options, readable: false }),
  ]);
  pipeReleasing(from, to);
  try {
    await both;
  } catch (error) {
    for (const stream of [from, to]) stream.on('error', () => {}).destroy();
    throw error;
  }
}
