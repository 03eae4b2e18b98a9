import type { Readable, Writable } from 'node:stream';
import { release } from './release.ts';

/** Confirms a stream before its last bytes are written. */
export interface ConfirmEnd {
  /** Length of the stream: the chunk that completes it is held until `confirm` resolves. Undefined if unknown. */
  totalBytes: number | undefined;
  /** @throws Error destroys the receiver with this error, before its end */
  confirm(): Promise<void>;
}

/** Bytes of one stream per turn of the event loop. A fast connection would otherwise delay all requests for milliseconds. */
const TURN_BYTES = 65_536;

/**
 * Pipes one stream to another with backpressure and ends the second with the first. Nothing else may use the chunks: the
 * memory of each is released as soon as it is written. When `to` closes early, the rest is read and dropped. The caller
 * handles all other errors.
 */
export function pipeReleasing(
  from: Readable,
  to: Writable,
  { confirmEnd }: { confirmEnd?: ConfirmEnd } = {},
): void {
  let total = 0;
  let turnBytes = 0;
  let isFull = false;
  let last: Uint8Array | undefined;
  const onData = (chunk: Uint8Array) => {
    total += chunk.length;
    if (confirmEnd !== undefined && total === confirmEnd.totalBytes) last = chunk;
    else write(chunk);
    turnBytes += chunk.length;
    if (turnBytes < TURN_BYTES) return;
    from.pause();
    setImmediate(() => {
      turnBytes = 0;
      if (!isFull) from.resume();
    });
  };
  const write = (chunk: Uint8Array) => {
    isFull = !to.write(chunk, () => release(chunk));
    if (isFull) from.pause();
  };
  const end = () => {
    if (to.destroyed) return;
    if (last !== undefined) write(last);
    to.end();
  };
  const onEnd = () => {
    if (confirmEnd === undefined) end();
    else confirmEnd.confirm().then(end, (error: Error) => void to.destroy(error));
  };
  const onDrain = () => {
    isFull = false;
    if (turnBytes < TURN_BYTES) from.resume();
  };
  from.on('data', onData).once('end', onEnd);
  to.on('drain', onDrain).once('close', () => {
    from.off('data', onData).off('end', onEnd).resume();
    to.off('drain', onDrain);
  });
}
