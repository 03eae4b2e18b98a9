import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { passOn } from './pass-on.ts';

/**
 * Passes all of one stream on to another, as `passOn` does. When either breaks off, or the signal comes, both are
 * destroyed, so that what arrived in part never looks complete.
 *
 * @throws why it was broken off
 */
export async function relay(
  from: Readable,
  to: Writable,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  const options = signal === undefined ? { cleanup: true } : { cleanup: true, signal };
  const both = Promise.all([
    finished(from, { ...options, writable: false }),
    finished(to, { ...options, readable: false }),
  ]);
  passOn(from, to);
  try {
    await both;
  } catch (error) {
    for (const stream of [from, to]) stream.on('error', () => {}).destroy();
    throw error;
  }
}
